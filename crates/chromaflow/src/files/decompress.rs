//! Decompressing readers.

use super::Compression;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, ErrorKind, Read};

/// Largest memory that the header of an `.xz` or `.zst` file may ask for; `xz -9` needs 64 MiB and a little.
const MEMORY_LIMIT: u32 = 512 << 20;

/// A compressed file that cannot be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// The file ends too early.
    #[error(
        "the {format} stream is truncated after {bytes} decompressed bytes: copy or download the file again"
    )]
    Truncated {
        /// gzip, xz or zstd.
        format: &'static str,
        /// Decompressed bytes before the end.
        bytes: u64,
    },
    /// The bytes are not a stream of this format, a checksum is wrong, or more memory is asked for than allowed.
    #[error(
        "the {format} stream is corrupt after {bytes} decompressed bytes ({detail}): copy or download the file again, or check that its name fits its content"
    )]
    Corrupt {
        /// gzip, xz or zstd.
        format: &'static str,
        /// Decompressed bytes before the fault.
        bytes: u64,
        /// What the decoder says.
        detail: String,
    },
}

/// Decompresses `input` on the way. Failures are [`io::Error`]s that carry a [`DecompressError`]; what the system
/// says about `input` itself is passed on. After a failure the stream stays failed.
pub fn decompress<R: BufRead + 'static>(input: R, compression: Compression) -> impl Read + 'static {
    let (format, decoder): (_, Box<dyn Read>) = match compression {
        Compression::None => ("plain", Box::new(input)),
        Compression::Gzip => ("gzip", Box::new(MultiGzDecoder::new(input))),
        Compression::Xz => ("xz", Box::new(XzReader::new_mem_limit(input, true, MEMORY_LIMIT >> 10))),
        Compression::Zstd => ("zstd", Box::new(ZstdReader::new(input))),
    };
    Fused { format, decoder, bytes: 0, failed: None }
}

struct Fused {
    format: &'static str,
    decoder: Box<dyn Read>,
    bytes: u64,
    failed: Option<DecompressError>,
}

impl Fused {
    fn fail(&mut self, error: &io::Error) -> io::Error {
        let (format, bytes) = (self.format, self.bytes);
        let failure = if error.kind() == ErrorKind::UnexpectedEof {
            DecompressError::Truncated { format, bytes }
        } else {
            DecompressError::Corrupt { format, bytes, detail: error.to_string() }
        };
        self.failed = Some(failure.clone());
        wrap(failure)
    }
}

fn wrap(failure: DecompressError) -> io::Error {
    let kind = match failure {
        DecompressError::Truncated { .. } => ErrorKind::UnexpectedEof,
        DecompressError::Corrupt { .. } => ErrorKind::InvalidData,
    };
    io::Error::new(kind, failure)
}

impl Read for Fused {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = &self.failed {
            return Err(wrap(failure.clone()));
        }
        match self.decoder.read(buf) {
            Ok(n) => {
                self.bytes += n as u64;
                Ok(n)
            }
            Err(e) if e.kind() == ErrorKind::Interrupted || e.raw_os_error().is_some() => Err(e),
            Err(e) => Err(self.fail(&e)),
        }
    }
}

/// Zstd frames one after the other, skippable ones skipped, checksums checked.
struct ZstdReader<R> {
    input: R,
    decoder: FrameDecoder,
    /// Whether the decoder is inside a frame.
    open: bool,
}

impl<R: BufRead> ZstdReader<R> {
    fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MEMORY_LIMIT.into());
        Self { input, decoder, open: false }
    }

    /// Opens the next frame; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.input) {
                Ok(()) => {
                    self.open = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(e) => return Err(zstd_error(&e)),
            }
        }
    }
}

/// The decoder hides the end of the file inside its own errors.
fn zstd_error(error: &(dyn std::error::Error + 'static)) -> io::Error {
    let mut cause = Some(error);
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<io::Error>() {
            match io.get_ref() {
                Some(inner) => return zstd_error(inner),
                None => return io::Error::new(io.kind(), error.to_string()),
            }
        }
        cause = e.source();
    }
    io::Error::new(ErrorKind::InvalidData, error.to_string())
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while !buf.is_empty() && (self.open || self.next_frame()?) {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|e| zstd_error(&e))?;
            }
            let n = self.decoder.read(buf)?;
            if n > 0 {
                return Ok(n);
            }
            self.open = false;
            if let Some(stored) = self.decoder.get_checksum_from_data()
                && self.decoder.get_calculated_checksum() != Some(stored)
            {
                return Err(io::Error::new(ErrorKind::InvalidData, "a checksum differs"));
            }
        }
        Ok(0)
    }
}
