//! Finds the ends of requests in a stream of bytes. Understands only lines and `Content-Length`.

/// Maximum size of a request before the splitter gives up waiting for its end.
const REQUEST_SIZE_MAX: usize = 1024 * 1024;

/// Splits a stream of bytes into requests.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    pending: Vec<u8>,
}

impl Splitter {
    /// Adds bytes and returns the requests they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        if self.pending.len() + bytes.len() > REQUEST_SIZE_MAX {
            return complete;
        }
        self.pending.extend_from_slice(bytes);
        while let Some(size) = request_size(&self.pending) {
            complete.push(self.pending.drain(..size).collect());
        }
        complete
    }
}

/// Size of the head, including the blank line, if it is complete. Leading blank lines belong to it: a client
/// may send one too many after its previous request.
pub(super) fn head_size(bytes: &[u8]) -> Option<usize> {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let blank = bytes[start..].windows(4).position(|window| window == b"\r\n\r\n")?;
    Some(start + blank + 4)
}

fn request_size(bytes: &[u8]) -> Option<usize> {
    let head = head_size(bytes)?;
    let size = head.saturating_add(content_length(&bytes[..head]));
    (bytes.len() >= size).then_some(size)
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_however_the_bytes_are_split() {
        let stream =
            b"GET / HTTP/1.1\r\n\r\nPOST /a HTTP/1.1\r\nContent-length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n\r\n";
        for cut in 0..=stream.len() {
            let mut splitter = Splitter::default();
            let mut requests = splitter.push(&stream[..cut]);
            requests.extend(splitter.push(&stream[cut..]));
            let starts: Vec<_> = requests.iter().map(Vec::len).collect();
            assert_eq!(starts, [18, 42, 19], "split at byte {cut}");
            assert!(requests[1].ends_with(b"abc"), "split at byte {cut}");
        }
    }

    #[test]
    fn a_blank_line_too_many_belongs_to_the_next_request() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push(b"GET / HTTP/1.1\r\n\r\n\r\n").len(), 1);
        assert_eq!(splitter.push(b"GET / HTTP/1.1\r\n\r\n"), [b"\r\nGET / HTTP/1.1\r\n\r\n"]);
    }

    #[test]
    fn an_endless_request_is_dropped() {
        let mut splitter = Splitter::default();
        for _ in 0..20 {
            assert!(splitter.push(&[b'x'; REQUEST_SIZE_MAX / 16]).is_empty());
        }
        assert!(splitter.pending.len() <= REQUEST_SIZE_MAX);
    }
}
