// PlainNames: a symbolizer as the names of a pipeline; no memory to free, and no recording.
#pragma once

#include "daemon/pipeline/pipeline.h"

namespace profd::test {

class PlainNames : public pipeline::NameService {
 public:
  explicit PlainNames(symbolize::Symbolizer& symbolizer) : symbolizer_(symbolizer) {}
  [[nodiscard]] symbolize::Symbolizer& symbolizer() override { return symbolizer_; }

 private:
  symbolize::Symbolizer& symbolizer_;
};

}  // namespace profd::test
