// LabelParser, LabelClient: labels of processes, found in a reader process.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/keys.h"
#include "daemon/base/result.h"
#include "daemon/labels/label_finder.h"
#include "daemon/reader/reader_pool.h"

namespace profd::labels {

// Runs in a reader process.
class LabelParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;

 private:
  LabelFinder finder_;
};

// The daemon's side: what comes back is checked, because a hostile process may have taken the
// parser over. Stateless; safe from any thread.
class LabelClient {
 public:
  // The pool's role makes LabelParsers; it outlives this.
  explicit LabelClient(reader::Readers& readers) : readers_(readers) {}

  // As LabelFinder::Find. An error is also that there is no answer yet.
  [[nodiscard]] Result<std::optional<LabelFacts>> Find(ProcessKey process,
                                                       std::chrono::milliseconds patience);

 private:
  reader::Readers& readers_;
};

}  // namespace profd::labels
