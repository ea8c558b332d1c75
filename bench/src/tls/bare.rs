//! Minimal TLS client: connect, handshake, close, with BoringSSL and blocking calls.

use std::net::{SocketAddrV4, TcpStream};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use boring::ssl::{Ssl, SslContextBuilder, SslMethod, SslSessionCacheMode, SslStream, SslVerifyMode};
use httperf_sys::tls::Session;

use crate::words::Words;

/// Options of the client.
#[derive(Debug)]
pub(crate) struct Options {
    target: SocketAddrV4,
    conns: u64,
    groups: String,
    resume: bool,
}

impl Options {
    pub(crate) fn parse(mut words: Words) -> anyhow::Result<Self> {
        let options = Options {
            target: words.value("--target")?.context("--target: expected ADDR:PORT, got nothing")?,
            conns: words.value("--conns")?.context("--conns: expected a number, got nothing")?,
            groups: words.value("--groups")?.unwrap_or_else(|| "X25519".to_owned()),
            resume: words.flag("--resume"),
        };
        words.finish()?;
        Ok(options)
    }
}

/// Makes the handshakes and prints their number.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut builder = SslContextBuilder::new(SslMethod::tls())?;
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_curves_list(&options.groups)?;
    let kept: Arc<Mutex<Option<Session>>> = Arc::default();
    if options.resume {
        let keep = Arc::clone(&kept);
        builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
        builder.set_new_session_callback(move |ssl, session| {
            *keep.lock().expect("nothing panics with it") = Some(Session::new(session, ssl));
        });
    }
    let context = builder.build();
    let mut resumed = 0;
    for number in 0..options.conns {
        let mut ssl = Ssl::new(&context)?;
        if let Some(session) = &*kept.lock().expect("nothing panics with it") {
            session.offer(&mut ssl);
        }
        let transport = TcpStream::connect(options.target)?;
        transport.set_nodelay(true)?;
        let mut stream = SslStream::new(ssl, transport)?;
        stream.connect()?;
        resumed += u64::from(stream.ssl().session_reused());
        if options.resume && number == 0 {
            // The ticket precedes the reply to any request.
            stream.ssl_write(b"HEAD / HTTP/1.0\r\n\r\n")?;
            stream.ssl_read(&mut [0; 1024])?;
        }
        stream.shutdown()?;
    }
    println!("bare-tls: handshakes {} resumed {resumed}", options.conns);
    Ok(())
}
