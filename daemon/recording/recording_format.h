// RecordingFormat: constants and structs of a recording file. FORMAT.md has the byte tables. All
// numbers are little-endian.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "daemon/base/keys.h"

namespace profd::recording {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::array<char, 8> kFileMagic = {'P', 'R', 'O', 'F', 'D', 'R', 'E', 'C'};
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4270;  // "pBLK"

// Limits that the writer keeps and the reader enforces.
inline constexpr std::uint32_t kMaxBlockBytes = 64u << 20;        // before compression
inline constexpr std::uint32_t kMaxStoredBytes = 65u << 20;       // after it, in the worst case
inline constexpr std::uint32_t kMaxEventBytes = 32u << 20;        // one event
inline constexpr std::uint32_t kMaxEnvironmentBytes = 60u << 20;  // one environment record

struct FileHeader {
  std::array<char, 8> magic = kFileMagic;
  std::uint32_t format_version = kFormatVersion;
  std::uint32_t reserved = 0;
};

enum class BlockKind : std::uint16_t {
  kInfo = 1,         // the first block
  kEvents = 2,       // events, in the order in which they left the source
  kEnvironment = 3,  // anywhere after the first block
  kFooter = 4,       // the last block of a complete file
};

// The header of a block. `stored_bytes` with one zstd frame and its content checksum follow.
struct BlockHeader {
  std::uint32_t magic = kBlockMagic;
  BlockKind kind = BlockKind::kInfo;
  std::uint16_t reserved = 0;
  std::uint32_t number = 0;        // how many blocks come before this one
  std::uint32_t records = 0;       // in this block
  std::uint32_t raw_bytes = 0;     // before compression, at most kMaxBlockBytes
  std::uint32_t stored_bytes = 0;  // in the file, at most kMaxStoredBytes
  std::uint64_t check = 0;         // HeaderCheck of the other fields
};

// The header of an event. Its `bytes` follow, then zeros up to the next multiple of 8.
struct EventFrame {
  std::uint32_t bytes = 0;
  std::uint32_t reserved = 0;
};

// The header of an environment record. Kind, key and value follow, then zeros as above.
struct EnvironmentFrame {
  std::uint32_t kind_bytes = 0;
  std::uint32_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
};

// The header of a field of the info block. Its `bytes` follow, then zeros as above.
struct InfoFrame {
  std::uint32_t field = 0;  // enum InfoField; a reader skips unknown ones
  std::uint32_t bytes = 0;
};

enum class InfoField : std::uint32_t {
  kEventsVersion = 1,  // u32: PROFD_EVENTS_VERSION
  kArchitecture = 2,
  kKernelRelease = 3,
  kHost = 4,
  kProfdVersion = 5,
  kHook = 6,
  kOptions = 7,
  kStartMonotonicNs = 8,  // u64
  kRealtimeOffsetNs = 9,  // s64: CLOCK_REALTIME minus CLOCK_MONOTONIC at that moment
  kCpuPlaces = 10,        // of each CPU 4 u32: its number, core, cache and node
};

static_assert(sizeof(FileHeader) == 16);
static_assert(sizeof(BlockHeader) == 32);
static_assert(sizeof(EventFrame) == 8);
static_assert(sizeof(EnvironmentFrame) == 16);
static_assert(sizeof(InfoFrame) == 8);

// The length with the zeros that follow.
constexpr std::size_t Padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

// The checksum of a header. The contents have the checksum of zstd.
constexpr std::uint64_t HeaderCheck(const BlockHeader& header) {
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return (std::uint64_t{high} << 32) | low;
  };
  const auto kind =
      static_cast<std::uint32_t>(header.kind) | (std::uint32_t{header.reserved} << 16);
  return MixBits(pair(header.raw_bytes, header.stored_bytes) ^
                 MixBits(pair(header.number, header.records) ^ MixBits(pair(header.magic, kind))));
}

}  // namespace profd::recording
