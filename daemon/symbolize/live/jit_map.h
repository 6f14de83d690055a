// JitMap: names of code that a process made at run time, as its own files list them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace profd::symbolize {

struct JitSymbol {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;      // past it
  std::string_view name;      // as the file has it; until the map changes
  bool registered = false;    // for debuggers, not listed in a file
  bool by_place = false;      // the name is made of the place: nothing lists it
  std::string_view reason{};  // of by_place: why nothing does
};

// What the files list, in their order.
class JitSink {
 public:
  virtual ~JitSink() = default;
  virtual void Add(std::uint64_t begin, std::uint64_t size, std::string_view name) = 0;
  // What lies at `from` lies at `to` from now on.
  virtual void Move(std::uint64_t from, std::uint64_t to, std::uint64_t size) = 0;
};

// Code that is listed later replaces the code at its place. Code beyond kMaxBytes is left out, and
// counted. Belongs to one process; used by one thread.
class JitMap : public JitSink {
 public:
  static constexpr std::size_t kMaxBytes = 64u << 20;

  void Add(std::uint64_t begin, std::uint64_t size, std::string_view name) override;
  void Move(std::uint64_t from, std::uint64_t to, std::uint64_t size) override;
  [[nodiscard]] std::optional<JitSymbol> Find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return code_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  struct Code {
    std::uint64_t end = 0;
    std::string name;
  };
  using Codes = std::map<std::uint64_t, Code>;
  Codes::iterator Erase(Codes::iterator code);

  Codes code_;  // disjoint
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
};

// Both take the next bytes of a file that grows, and return how many of them they have used. The
// rest is the beginning of a line or record that is not complete yet. They leave out lines and
// records that are invalid. When a whole dump is invalid, they use all of its bytes.

// perf-PID.map: lines of "start size name", hexadecimal.
[[nodiscard]] std::size_t ReadPerfMap(std::string_view bytes, JitSink& sink);
// jit-PID.dump: linux/tools/perf/Documentation/jitdump-specification.txt. `first`: of the file.
[[nodiscard]] std::size_t ReadJitDump(std::string_view bytes, bool first, JitSink& sink);

}  // namespace profd::symbolize
