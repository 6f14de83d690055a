// ProbeParser, ProbeClient: places for programs in mapped files, found in a reader process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/probes/probe_finder.h"
#include "daemon/reader/reader_pool.h"

namespace profd::elf {

// Runs in a reader process.
class ProbeParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;
};

// The daemon's side. Used by one thread. What comes back is checked: a hostile file may have taken
// the parser over, and then the places mean nothing, but they lie in that file alone.
class ProbeClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{5'000};
  static constexpr std::size_t kMaxNames = 16;
  enum class Kind : std::uint8_t { kFunctions, kEntries, kStaticProbe };

  // `readers` answer by ProbeParsers, and outlive this.
  explicit ProbeClient(reader::Readers& readers) : readers_(readers) {}

  // As FindFunctions, and with kEntries BehindVectors, and FindStaticProbe. `user`: whose share of
  // readers it uses.
  [[nodiscard]] Result<std::vector<std::optional<ProbePlace>>> Functions(
      const ObjectId& id, std::uint32_t user, const std::vector<std::string>& names,
      Kind kind = Kind::kFunctions);
  [[nodiscard]] Result<std::vector<ProbePlace>> StaticProbe(const ObjectId& id, std::uint32_t user,
                                                            const std::string& provider,
                                                            const std::string& name);

 private:
  [[nodiscard]] Result<std::vector<std::optional<ProbePlace>>> Ask(
      const ObjectId& id, std::uint32_t user, Kind kind, const std::vector<std::string>& names,
      std::size_t most);

  reader::Readers& readers_;
};

}  // namespace profd::elf
