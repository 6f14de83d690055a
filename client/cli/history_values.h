// What of the history is requested, from the options and words that say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/cli_app.h"
#include "client/cli/options.h"
#include "daemon/base/result.h"

namespace profd::client {

// --since, --from and --to, and who.
[[nodiscard]] Result<HistoryQuestion> ParseQuestion(const RawOptions& raw,
                                                    std::uint64_t now_unix_ns);

// "2h..1h", "1h..", "..14:05", of whom `raw` says. Nothing when the word is no two times, at least
// one of them written; an error when no time lies between them.
[[nodiscard]] Result<std::optional<HistoryQuestion>> ParseRange(const RawOptions& raw,
                                                                const std::string& word,
                                                                std::uint64_t now_unix_ns);

// The first option that restricts a question to somebody; empty: none is given.
[[nodiscard]] std::string FirstFilter(const RawOptions& raw);

}  // namespace profd::client
