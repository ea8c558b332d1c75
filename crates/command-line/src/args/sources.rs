//! Arguments about the route to servers, and about sockets.

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
