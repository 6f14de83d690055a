#include "daemon/store/codec/path_codec.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "daemon/aggregate/waits/path_finder.h"
#include "daemon/base/keys.h"

namespace profd::store {
namespace {

using aggregate::PathHow;
using aggregate::PathKind;
using aggregate::PathNode;
using process::WaitReason;

// In the order of the bytes.
enum Column : std::size_t {
  kHead,  // paths, threads, wake-ups
  kParent,
  kKind,
  kPathThread,
  kStack,
  kRow,
  kNames,
  kWaiter,
  kWaker,
  kReason,
  kWaits,
  kSpurious,
  kSample,
  kColumns
};

// Steps of a path: PathFinder ends one with another step.
constexpr std::uint32_t kMaxDepth = aggregate::PathFinder::kMaxSteps + 1;

// Of paths, threads and wake-ups: no window comes near it.
constexpr std::uint64_t kMaxCount = 8u << 20;

// Kind, how, wait reason and whether it is estimated as one number.
static_assert(static_cast<int>(PathKind::kTooLong) < 16);
static_assert(static_cast<int>(PathHow::kOwner) < 8);
static_assert(process::kWaitReasons.size() <= 16);
constexpr std::uint64_t kKindEnd = 1u << 12;
std::uint64_t PackKind(const PathNode& path) {
  return static_cast<std::uint64_t>(path.kind) | static_cast<std::uint64_t>(path.how) << 4 |
         static_cast<std::uint64_t>(path.wait) << 7 | std::uint64_t{path.estimated} << 11;
}

bool IsReason(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(process::kWaitReasons.back().reason);
}

// False for a number that PackKind never gives.
bool UnpackKind(std::uint64_t packed, PathNode& path) {
  path.kind = static_cast<PathKind>(packed & 15);
  path.how = static_cast<PathHow>(packed >> 4 & 7);
  path.wait = static_cast<WaitReason>(packed >> 7 & 15);
  path.estimated = (packed >> 11 & 1) != 0;
  return packed < kKindEnd && path.kind <= PathKind::kTooLong && path.how <= PathHow::kOwner &&
         IsReason(packed >> 7 & 15);
}

std::int64_t Difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

void AddName(std::string_view name, ColumnWriter& column) {
  name = name.substr(0, PathDecoder::kMaxNameBytes);
  column.Add(name.size());
  for (const char c : name) column.Add(static_cast<unsigned char>(c));
}

}  // namespace

Result<std::string> EncodePaths(const aggregate::Profile& window, const PathPlaces& places,
                                int level) {
  std::array<ColumnWriter, kColumns> columns;
  columns[kHead].Add(window.paths.empty() ? 0 : window.paths.size() - 1);  // the root is not kept
  columns[kHead].Add(window.path_threads.size());
  columns[kHead].Add(window.wake_ups.size());
  std::uint64_t stack = 0;
  for (std::size_t i = 1; i < window.paths.size(); ++i) {
    const PathNode& path = window.paths[i];
    columns[kParent].Add(i - path.parent);
    columns[kKind].Add(PackKind(path));
    columns[kPathThread].Add(path.thread);
    columns[kStack].AddSigned(Difference(path.node, stack));
    stack = path.node;
  }
  std::unordered_map<ThreadKey, std::uint32_t> row_of;
  for (std::uint32_t i = 0; i < window.threads.size(); ++i)
    row_of.emplace(window.threads[i].key, places.position_of[i]);
  for (const aggregate::PathThread& thread : window.path_threads) {
    const auto row = row_of.find(thread.key);
    columns[kRow].Add(row == row_of.end() ? 0 : std::uint64_t{row->second} + 1);
    if (row != row_of.end()) continue;
    AddName(thread.comm, columns[kNames]);
    AddName(thread.process_comm, columns[kNames]);
  }
  std::uint64_t waiter = 0;
  for (const aggregate::WakeUpCount& count : window.wake_ups) {
    const std::uint64_t position = places.position_of[count.thread];
    columns[kWaiter].AddSigned(Difference(position, waiter));
    columns[kWaker].Add(count.waker);
    columns[kReason].Add(static_cast<std::uint64_t>(count.wait));
    columns[kWaits].Add(count.waits);
    columns[kSpurious].Add(count.spurious);
    waiter = position;
  }
  std::uint64_t last = 0;
  for (const std::uint32_t path : places.blocked_paths) {
    columns[kSample].AddSigned(Difference(path, last));
    last = path;
  }
  return PackColumns(columns, level);
}

PathDecoder::PathDecoder(UnpackedColumns columns) : bytes_(std::move(columns)) {
  for (std::size_t i = 0; i < kColumns; ++i) columns_.push_back(bytes_[i]);
}

Result<PathDecoder> PathDecoder::From(std::span<const std::byte> bytes) {
  auto columns = UnpackedColumns::From(bytes, kColumns);
  if (!columns) return columns.error();
  return PathDecoder(*std::move(columns));
}

bool PathDecoder::Read(std::uint64_t threads) {
  const std::uint64_t paths = columns_[kHead].Next();
  const std::uint64_t path_threads = columns_[kHead].Next();
  const std::uint64_t wake_ups = columns_[kHead].Next();
  // Each of them takes at least one byte: this bounds the allocations below.
  if (std::max({paths, path_threads, wake_ups}) > kMaxCount) return false;
  if (paths > columns_[kParent].left() || path_threads > columns_[kRow].left() ||
      wake_ups > columns_[kWaker].left())
    return false;
  return ReadThreads(path_threads, threads) && ReadPaths(paths) && ReadWakeUps(wake_ups, threads);
}

bool PathDecoder::ReadName(std::string& name) {
  const std::uint64_t bytes = columns_[kNames].Next();
  if (bytes > kMaxNameBytes) return false;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const std::uint64_t byte = columns_[kNames].Next();
    if (byte == 0 || byte > std::numeric_limits<unsigned char>::max()) return false;
    name.push_back(static_cast<char>(byte));
  }
  return true;
}

bool PathDecoder::ReadThreads(std::uint64_t count, std::uint64_t threads) {
  threads_.resize(count);
  for (DecodedPathThread& thread : threads_) {
    const std::uint64_t row = columns_[kRow].Next();
    if (row > threads) return false;
    if (row != 0)
      thread.position = static_cast<std::uint32_t>(row - 1);
    else if (!ReadName(thread.comm) || !ReadName(thread.process_comm))
      return false;
  }
  return true;
}

bool PathDecoder::ReadPaths(std::uint64_t count) {
  paths_.resize(1);
  std::vector<std::uint32_t> depths{0};
  std::uint64_t stack = 0;
  for (std::uint64_t i = 1; i <= count; ++i) {
    PathNode path;
    const std::uint64_t back = columns_[kParent].Next();
    const std::uint64_t thread = columns_[kPathThread].Next();
    stack += static_cast<std::uint64_t>(columns_[kStack].NextSigned());
    if (back == 0 || back > i || !UnpackKind(columns_[kKind].Next(), path) ||
        thread > threads_.size() || stack > std::numeric_limits<std::uint32_t>::max())
      return false;
    path.parent = static_cast<std::uint32_t>(i - back);
    path.thread = static_cast<std::uint32_t>(thread);
    path.node = static_cast<std::uint32_t>(stack);
    depths.push_back(depths[path.parent] + 1);
    if (depths.back() > kMaxDepth) return false;
    paths_.push_back(path);
  }
  return true;
}

bool PathDecoder::ReadWakeUps(std::uint64_t count, std::uint64_t threads) {
  std::uint64_t waiter = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    waiter += static_cast<std::uint64_t>(columns_[kWaiter].NextSigned());
    const std::uint64_t waker = columns_[kWaker].Next();
    const std::uint64_t reason = columns_[kReason].Next();
    if (waiter >= threads || waker >= threads_.size() || !IsReason(reason)) return false;
    aggregate::WakeUpCount& added = wake_ups_.emplace_back();
    added.thread = static_cast<std::uint32_t>(waiter);
    added.waker = static_cast<std::uint32_t>(waker);
    added.wait = static_cast<WaitReason>(reason);
    added.waits = columns_[kWaits].Next();
    added.spurious = columns_[kSpurious].Next();
  }
  return true;
}

std::optional<std::uint32_t> PathDecoder::NextSample() {
  last_path_ += static_cast<std::uint64_t>(columns_[kSample].NextSigned());
  if (last_path_ >= paths_.size()) return std::nullopt;
  return static_cast<std::uint32_t>(last_path_);
}

bool PathDecoder::IsAtEnd() const {
  return std::ranges::all_of(
      columns_, [](const ColumnReader& column) { return column.ok() && column.left() == 0; });
}

}  // namespace profd::store
