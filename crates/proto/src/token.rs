//! Tokens: what names of fields and methods consist of.

/// Returns whether a byte may be in a token.
///
/// <https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2>
pub(crate) fn is_token(byte: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut is_token = [false; 256];
        let others = b"!#$%&'*+-.^_`|~";
        let mut byte = 0;
        while byte < 256 {
            is_token[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let mut other = 0;
        while other < others.len() {
            is_token[others[other] as usize] = true;
            other += 1;
        }
        is_token
    };
    TOKEN[byte as usize]
}
