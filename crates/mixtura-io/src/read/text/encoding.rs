//! Decodes text that is not UTF-8 as Windows-1252, which is nearly a superset of Latin-1.

use std::borrow::Cow;

/// The characters of the bytes 0x80 to 0x9f; undefined bytes map to themselves, as in browsers.
const UPPER: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes bytes as UTF-8 if they are valid, else as Windows-1252, which accepts any bytes.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(windows_1252(bytes)),
    }
}

/// Decodes bytes as Windows-1252.
pub(super) fn windows_1252(bytes: &[u8]) -> String {
    let decode = |&byte: &u8| match byte {
        0x80..=0x9f => UPPER[usize::from(byte - 0x80)],
        byte => char::from(byte),
    };
    bytes.iter().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_are_understood() {
        assert_eq!(decode("Größe".as_bytes()), "Größe");
        assert_eq!(decode(b"Gr\xf6\xdfe"), "Größe");
        assert_eq!(decode(b"5 \x80"), "5 €");
        assert_eq!(decode(b"\x9f\xa0\xff"), "Ÿ\u{a0}ÿ");
    }
}
