// NumberingSymbolizer: names that follow from the address; for tests of what comes after names.
#pragma once

#include <string>
#include <vector>

#include "daemon/symbolize/names/symbolizer.h"

namespace profd::test {

// 0x400002 is "f_4194306".
class NumberingSymbolizer : public symbolize::Symbolizer {
 public:
  void Resolve(const process::AddressFrame& address, symbolize::Detail /*detail*/,
               std::vector<symbolize::Frame>& frames) override {
    symbolize::Frame frame;
    frame.kind = address.kernel ? symbolize::FrameKind::kKernel : symbolize::FrameKind::kNative;
    frame.name = "f_" + std::to_string(address.address);
    frames.push_back(std::move(frame));
  }
};

}  // namespace profd::test
