//! Compressing writers.

use super::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, Write};

/// A zstd frame holds this many bytes of the file; frames follow one another.
const FRAME: usize = 4 << 20;
/// Of 0 to 9: numbers hardly shrink further above this, but take twice the time.
const XZ_PRESET: u32 = 3;

pub(super) enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Xz(Box<XzWriter<W>>),
    Zstd(ZstdFrames<W>),
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(out: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(out),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Xz => Self::Xz(Box::new(XzWriter::new(out, XzOptions::with_preset(XZ_PRESET))?)),
            Compression::Zstd => Self::Zstd(ZstdFrames { out, pending: Vec::new(), written: false }),
        })
    }

    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(gz) => gz.finish(),
            Self::Xz(xz) => xz.finish(),
            Self::Zstd(mut zst) => {
                if !zst.pending.is_empty() || !zst.written {
                    zst.write_frame()?;
                }
                Ok(zst.out)
            }
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(buf),
            Self::Gzip(gz) => gz.write(buf),
            Self::Xz(xz) => xz.write(buf),
            Self::Zstd(zst) => zst.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(gz) => gz.flush(),
            // Half a block cannot be written without harm to what follows; `finish` writes it.
            Self::Xz(_) | Self::Zstd(_) => Ok(()),
        }
    }
}

/// Zstd by whole frames in memory: the compressor at hand panics when its output fails, so it only ever writes to
/// memory.
pub(super) struct ZstdFrames<W> {
    out: W,
    pending: Vec<u8>,
    written: bool,
}

impl<W: Write> ZstdFrames<W> {
    fn write_frame(&mut self) -> io::Result<()> {
        let frame = compress_to_vec(self.pending.as_slice(), CompressionLevel::Fastest);
        self.pending.clear();
        self.written = true;
        self.out.write_all(&frame)
    }

    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let take = buf.len().min(FRAME - self.pending.len());
        self.pending.extend_from_slice(&buf[..take]);
        if self.pending.len() == FRAME {
            self.write_frame()?;
        }
        Ok(take)
    }
}
