#include "daemon/symbolize/live/made_functions.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/keys.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/reader/message.h"
#include "daemon/symbolize/names/made_code.h"
#include "daemon/unwind/code/memory_rows.h"

namespace profd::symbolize {
namespace {

using reader::Packer;
using reader::Unpacker;
using unwind::CodeRange;

constexpr std::size_t kMaxMapsBytes = 64u << 20;
// A request costs as much as so many bytes of a list; code that is compared less than its bytes,
// code whose functions are searched for more.
constexpr std::uint64_t kRequestCost = 4'096;
constexpr std::uint64_t kComparedPerCost = 16;
constexpr std::uint64_t kCostOfSearched = 4;
// Code before and behind a window that its functions may reach over.
constexpr std::uint64_t kReach = unwind::CodeRows::kBefore + unwind::CodeRows::kBehind;

CodeRange WindowOf(std::uint64_t address) {
  const std::uint64_t begin = address / MadeWindow::kBytes * MadeWindow::kBytes;
  return {begin, begin + MadeWindow::kBytes};
}

// Executable anonymous mappings with a part in the window.
std::vector<CodeRange> MappingsIn(const CodeRange& window, const std::string& maps) {
  std::vector<CodeRange> mappings;
  ParseMaps(maps, [&](MapsLine&& line) {
    const bool is_made = line.executable && line.readable && line.inode == 0 &&
                         (line.path.empty() || line.path.starts_with("[anon"));
    const std::uint64_t after = mappings.empty() ? 0 : mappings.back().end;
    if (is_made && line.start < window.end && line.end > window.begin && line.start >= after)
      mappings.push_back({line.start, line.end});
  });
  return mappings;
}

Result<std::string> ReadMemory(int memory, std::uint64_t address, std::uint64_t bytes) {
  std::string read(bytes, '\0');
  const ssize_t count = ::pread(memory, read.data(), read.size(), static_cast<off_t>(address));
  if (count <= 0) return Error{ErrorCode::kNotFound, "the process or its mapping is gone", ""};
  read.resize(static_cast<std::size_t>(count));
  return read;
}

CodeRange PartOf(const CodeRange& mapping, const CodeRange& window) {
  return {std::max(mapping.begin, window.begin), std::min(mapping.end, window.end)};
}

}  // namespace

Result<std::string> ReadMadeWindow(std::uint32_t pid, std::uint64_t address,
                                   std::optional<std::uint64_t> known, reader::FileOpener& opener) {
  const auto maps = reader::ReadProcessFile(opener, pid, "maps", kMaxMapsBytes);
  if (!maps) return maps.error();
  if (maps->empty()) return Error{ErrorCode::kNotFound, "the process has ended", ""};
  const CodeRange window = WindowOf(address);
  const std::vector<CodeRange> mappings = MappingsIn(window, *maps);
  const auto memory = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = pid});
  if (!memory) return memory.error();
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;
  for (const CodeRange& mapping : mappings) {
    const CodeRange part = PartOf(mapping, window);
    const auto code = ReadMemory(memory->fd.get(), part.begin, part.end - part.begin);
    if (!code) return code.error();
    hash = MixBits(hash ^ mapping.begin) ^ XXH3_64bits(code->data(), code->size());
    bytes += code->size();
  }
  const bool is_new = hash != known;
  Packer answer;
  answer.Number<std::uint64_t>(maps->size()).Number(bytes).Number(is_new);
  if (!is_new) return answer.Take();
  const auto read = [&](std::uint64_t from, std::uint64_t count) {
    return ReadMemory(memory->fd.get(), from, count);
  };
  std::vector<CodeRange> functions;
  for (const CodeRange& mapping : mappings) {
    const auto found = unwind::MemoryFunctions(PartOf(mapping, window), mapping, read);
    functions.insert(functions.end(), found.begin(), found.end());
  }
  functions.resize(std::min(functions.size(), MadeWindow::kMaxFunctions));
  answer.Number(hash).Number(static_cast<std::uint32_t>(functions.size()));
  for (const CodeRange& function : functions) answer.Plain(function);
  return answer.Take();
}

std::optional<MadeAnswer> UnpackMadeWindow(std::string_view answer, std::uint64_t address) {
  Unpacker fields(answer);
  MadeAnswer made;
  const auto maps_bytes = std::min<std::uint64_t>(fields.Number<std::uint64_t>(), kMaxMapsBytes);
  const auto code_bytes = std::min(fields.Number<std::uint64_t>(), MadeWindow::kBytes);
  const auto is_new = fields.Number<bool>();
  made.cost = kRequestCost + maps_bytes +
              (is_new ? code_bytes * kCostOfSearched : code_bytes / kComparedPerCost);
  if (!is_new) return fields.done() ? std::optional(std::move(made)) : std::nullopt;
  MadeWindow& window = made.window.emplace();
  window.hash = fields.Number<std::uint64_t>();
  const std::uint32_t count = fields.Count(sizeof(CodeRange));
  if (count > MadeWindow::kMaxFunctions) return std::nullopt;
  window.functions.reserve(count);
  const CodeRange range = WindowOf(address);
  std::uint64_t after = range.begin - std::min(range.begin, kReach);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto function = fields.Plain<CodeRange>();
    if (function.begin < after || function.end <= function.begin || function.begin >= range.end ||
        function.end <= range.begin || function.end - range.begin > MadeWindow::kBytes + kReach)
      return std::nullopt;
    after = function.end;
    window.functions.push_back(function);
  }
  return fields.done() ? std::optional(std::move(made)) : std::nullopt;
}

bool MadeFunctions::IsDue(std::uint64_t address, std::uint64_t now_ns) {
  const Window* window = windows_.Find(address / MadeWindow::kBytes);
  if (window == nullptr) return true;
  const std::uint64_t pause =
      Find(address) ? window->pause_ns : std::min(window->pause_ns, kMissedNs);
  return now_ns - window->checked_ns >= pause;
}

std::optional<std::uint64_t> MadeFunctions::HashAt(std::uint64_t address) {
  const Window* window = windows_.Find(address / MadeWindow::kBytes);
  if (window == nullptr || !window->is_known) return std::nullopt;
  return window->read.hash;
}

void MadeFunctions::Take(std::uint64_t address, std::optional<MadeWindow> read,
                         std::uint64_t now_ns) {
  const std::uint64_t key = address / MadeWindow::kBytes;
  Window* window = windows_.Find(key);
  if (window == nullptr) window = &windows_.Put(key, Window{}, Windows::kEntryBytes);
  window->checked_ns = now_ns;
  window->pause_ns = read ? kFirstNs : std::min(2 * window->pause_ns, kLastNs);
  if (!read) return;
  window->is_known = true;
  window->read = *std::move(read);
  windows_.Charge(key,
                  Windows::kEntryBytes + window->read.functions.capacity() * sizeof(CodeRange));
}

std::optional<CodeRange> MadeFunctions::Find(std::uint64_t address) {
  const Window* window = windows_.Find(address / MadeWindow::kBytes);
  if (window == nullptr) return std::nullopt;
  const auto& functions = window->read.functions;
  const auto after = std::ranges::upper_bound(functions, address, {}, &CodeRange::begin);
  if (after == functions.begin() || !std::prev(after)->holds(address)) return std::nullopt;
  return *std::prev(after);
}

std::string NameOfMade(const CodeRange& function) {
  constexpr std::size_t kBase = 2;  // "0x"
  return std::string(kMadeCode) + "!fn_" + HexNumber(function.begin).substr(kBase);
}

}  // namespace profd::symbolize
