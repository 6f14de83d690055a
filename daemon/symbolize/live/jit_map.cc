#include "daemon/symbolize/live/jit_map.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

namespace profd::symbolize {
namespace {

constexpr std::size_t kMaxNameBytes = 4096;
constexpr std::size_t kNodeBytes = 112;  // of the map, with its string

template <typename T>
T NumberAt(std::string_view bytes, std::size_t at) {
  T number{};
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// A hexadecimal number and the space behind it; false when there is none.
bool TakeNumber(std::string_view& line, std::uint64_t& number) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  const auto length = static_cast<std::size_t>(end - line.data());
  if (error != std::errc{} || length >= line.size() || line[length] != ' ') return false;
  line.remove_prefix(length + 1);
  return true;
}

}  // namespace

JitMap::Codes::iterator JitMap::Erase(Codes::iterator code) {
  bytes_ -= kNodeBytes + code->second.name.size();
  return code_.erase(code);
}

void JitMap::Add(std::uint64_t begin, std::uint64_t size, std::string_view name) {
  name = name.substr(0, kMaxNameBytes);
  const std::uint64_t end = begin + std::min(size, ~begin);
  if (begin >= end || name.empty()) return;
  auto next = code_.lower_bound(begin);
  if (next != code_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > begin) before->second.end = begin;
  }
  while (next != code_.end() && next->first < end) next = Erase(next);
  if (bytes_ + kNodeBytes + name.size() > kMaxBytes) {
    ++left_out_;
    return;
  }
  bytes_ += kNodeBytes + name.size();
  code_.emplace_hint(next, begin, Code{end, std::string(name)});
}

void JitMap::Move(std::uint64_t from, std::uint64_t to, std::uint64_t size) {
  const auto moved = Find(from);
  if (moved) Add(to, size, std::string(moved->name));
}

std::optional<JitSymbol> JitMap::Find(std::uint64_t address) const {
  const auto after = code_.upper_bound(address);
  if (after == code_.begin()) return std::nullopt;
  const auto& [begin, code] = *std::prev(after);
  if (address >= code.end) return std::nullopt;
  return JitSymbol{begin, code.end, code.name};
}

std::size_t ReadPerfMap(std::string_view bytes, JitSink& sink) {
  std::size_t done = 0;
  for (;;) {
    const std::size_t newline = bytes.find('\n', done);
    if (newline == std::string_view::npos) {
      // No run time writes such lines; do not wait for the end of this one for ever.
      constexpr std::size_t kMaxLine = 64u << 10;
      return bytes.size() - done > kMaxLine ? bytes.size() : done;
    }
    std::string_view line = bytes.substr(done, newline - done);
    done = newline + 1;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    if (TakeNumber(line, begin) && TakeNumber(line, size)) sink.Add(begin, size, line);
  }
}

std::size_t ReadJitDump(std::string_view bytes, bool first, JitSink& sink) {
  constexpr std::uint32_t kMagic = 0x4a695444;
  constexpr std::size_t kHeader = 40;
  constexpr std::size_t kRecord = 16;
  constexpr std::size_t kMaxRecord = 16u << 20;
  constexpr std::uint32_t kLoad = 0;
  constexpr std::uint32_t kMove = 1;
  std::size_t done = 0;
  if (first) {
    if (bytes.size() < kHeader) return 0;
    const auto header = NumberAt<std::uint32_t>(bytes, 8);
    if (NumberAt<std::uint32_t>(bytes, 0) != kMagic || header < kHeader || header > kMaxRecord)
      return bytes.size();
    if (bytes.size() < header) return 0;
    done = header;
  }
  while (bytes.size() - done >= kRecord) {
    const auto kind = NumberAt<std::uint32_t>(bytes, done);
    const auto size = NumberAt<std::uint32_t>(bytes, done + 4);
    if (size < kRecord || size > kMaxRecord) return bytes.size();
    if (bytes.size() - done < size) return done;
    const std::string_view record = bytes.substr(done, size);
    done += size;
    if (kind == kLoad && size > 56) {
      const auto code = NumberAt<std::uint64_t>(record, 32);
      const auto code_size = NumberAt<std::uint64_t>(record, 40);
      const std::string_view rest = record.substr(56);
      sink.Add(code, code_size, rest.substr(0, rest.find('\0')));
    } else if (kind == kMove && size >= 64) {
      const auto from = NumberAt<std::uint64_t>(record, 32);
      const auto to = NumberAt<std::uint64_t>(record, 40);
      const auto code_size = NumberAt<std::uint64_t>(record, 48);
      sink.Move(from, to, code_size);
    }
  }
  return done;
}

}  // namespace profd::symbolize
