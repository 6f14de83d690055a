// Layout of a recording file; byte tables in FORMAT.md. All numbers are little-endian.
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

// Bounds that a writer keeps and a reader insists on.
inline constexpr std::uint32_t kMaxBlockBytes = 64u << 20;        // before compression
inline constexpr std::uint32_t kMaxStoredBytes = 65u << 20;       // what zstd makes of it at worst
inline constexpr std::uint32_t kMaxEventBytes = 32u << 20;        // one event
inline constexpr std::uint32_t kMaxEnvironmentBytes = 60u << 20;  // one environment record

struct FileHeader {
  std::array<char, 8> magic = kFileMagic;
  std::uint32_t format_version = kFormatVersion;
  std::uint32_t reserved = 0;
};

enum class BlockKind : std::uint16_t {
  kInfo = 1,         // the first block
  kEvents = 2,       // frames of events, in the order in which they left the source
  kEnvironment = 3,  // anywhere
  kFooter = 4,       // the last block of a file that is complete
};

// Before each block. `stored_bytes` of one zstd frame with a content checksum follow.
struct BlockHeader {
  std::uint32_t magic = kBlockMagic;
  BlockKind kind = BlockKind::kInfo;
  std::uint16_t reserved = 0;
  std::uint32_t number = 0;        // of blocks before this one
  std::uint32_t records = 0;       // in this block
  std::uint32_t raw_bytes = 0;     // before compression, at most kMaxBlockBytes
  std::uint32_t stored_bytes = 0;  // in the file, at most kMaxStoredBytes
  std::uint64_t check = 0;         // CheckOf the others
};

// One event; `bytes` of it follow, then zeros up to the next multiple of 8.
struct EventFrame {
  std::uint32_t bytes = 0;
  std::uint32_t reserved = 0;
};

// One environment record; kind, key and value follow each other, then zeros as above.
struct EnvironmentFrame {
  std::uint32_t kind_bytes = 0;
  std::uint32_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
};

// One field of the info block; `bytes` of it follow, then zeros as above.
struct InfoFrame {
  std::uint32_t field = 0;  // enum InfoField; a reader passes over those it does not know
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
};

static_assert(sizeof(FileHeader) == 16);
static_assert(sizeof(BlockHeader) == 32);
static_assert(sizeof(EventFrame) == 8);
static_assert(sizeof(EnvironmentFrame) == 16);
static_assert(sizeof(InfoFrame) == 8);

// Length with the zeros that follow.
constexpr std::size_t Padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

// Tells a damaged header from a sound one; the contents have zstd's checksum.
constexpr std::uint64_t CheckOf(const BlockHeader& header) {
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return (std::uint64_t{high} << 32) | low;
  };
  const auto kind =
      static_cast<std::uint32_t>(header.kind) | (std::uint32_t{header.reserved} << 16);
  return MixBits(pair(header.raw_bytes, header.stored_bytes) ^
                 MixBits(pair(header.number, header.records) ^ MixBits(pair(header.magic, kind))));
}

}  // namespace profd::recording
