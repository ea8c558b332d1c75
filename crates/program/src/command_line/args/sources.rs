//! Arguments about the route to servers, and about sockets.

use crate::command_line::grammar::ParseStop;

/// Arguments about the route to servers, and about sockets.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceArgs {
    /// `--connect-to`, each time it was given.
    pub connect_to: Vec<ConnectTo>,
    /// `--all-addresses`.
    pub all_addresses: bool,
    /// `--proxy`.
    pub proxy: Option<ProxyUrl>,
    /// `--proxy-tunnel`.
    pub proxy_tunnel: bool,
    /// `--tcp-nodelay`.
    pub no_delay: bool,
    /// `--tcp-fastopen`.
    pub fast_open: bool,
    /// `--tos`.
    pub tos: Option<u8>,
    /// `--dscp`, in the place that it has in the traffic class.
    pub dscp: Option<u8>,
    /// `--system-buffers`.
    pub system_buffers: bool,
    /// The last of `--send-buffer` and `--recv-buffer` that was given.
    pub buffers_sized_by: Option<&'static str>,
    /// True if `--send-buffer` is given.
    pub sizes_send_buffer: bool,
    /// True if `--recv-buffer` is given.
    pub sizes_recv_buffer: bool,
}

impl Default for SourceArgs {
    fn default() -> Self {
        Self {
            connect_to: Vec::new(),
            all_addresses: false,
            proxy: None,
            proxy_tunnel: false,
            no_delay: true,
            fast_open: false,
            tos: None,
            dscp: None,
            system_buffers: false,
            buffers_sized_by: None,
            sizes_send_buffer: false,
            sizes_recv_buffer: false,
        }
    }
}

/// A value of `--connect-to`. What was left empty is `None`; hosts are without brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    /// The whole value.
    pub typed: String,
    /// The server that it is about.
    pub host: Option<String>,
    /// The port that it is about.
    pub port: Option<u16>,
    /// The host to connect to.
    pub to_host: Option<String>,
    /// The port to connect to.
    pub to_port: Option<u16>,
}

/// A value of `--proxy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyUrl {
    /// Its host, as in a URL: an IPv6 address in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `USER:PASSWORD`, decoded.
    pub credentials: Option<Vec<u8>>,
}

impl SourceArgs {
    /// Checks options that depend on each other. `is_local`: `--unix-socket` was given.
    pub(super) fn check(&self, is_local: bool) -> Result<(), ParseStop> {
        let contradiction = |option: &str, other: &str| {
            Err(ParseStop::rejected(format!("{option}: expected no {other} beside it")))
        };
        let of_tcp = [
            ("--proxy", self.proxy.is_some()),
            ("--connect-to", !self.connect_to.is_empty()),
            ("--all-addresses", self.all_addresses),
            ("--tcp-fastopen", self.fast_open),
            ("--tos", self.tos.is_some()),
            ("--dscp", self.dscp.is_some()),
        ];
        if is_local && let Some((option, _)) = of_tcp.into_iter().find(|&(_, is_given)| is_given) {
            return contradiction(option, "--unix-socket");
        }
        if self.proxy.is_some() && !self.connect_to.is_empty() {
            return contradiction("--connect-to", "--proxy");
        }
        if self.proxy_tunnel && self.proxy.is_none() {
            return Err(ParseStop::rejected("--proxy-tunnel: needs --proxy, which names the proxy"));
        }
        if self.dscp.is_some() && self.tos.is_some() {
            return contradiction("--dscp", "--tos");
        }
        match self.buffers_sized_by {
            Some(option) if self.system_buffers => contradiction("--system-buffers", option),
            _ => Ok(()),
        }
    }
}
