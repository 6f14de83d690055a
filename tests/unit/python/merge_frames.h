// Frames as the merge gets them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/process/sample.h"

namespace profd::python {

inline process::AddressFrame Python(const std::string& name) {
  process::AddressFrame frame;
  frame.python = std::make_shared<process::PythonFunction>(process::PythonFunction{name, "x.py"});
  return frame;
}

// A native frame that ends at `cfa` on the stack; only those of an interpreter know it.
inline process::AddressFrame Native(std::uint64_t address, std::uint64_t cfa = 0) {
  process::AddressFrame frame;
  frame.address = address;
  frame.return_address = true;
  frame.cfa = cfa;
  return frame;
}

}  // namespace profd::python
