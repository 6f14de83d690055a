// ErrorOf: the error of an event that the decoder refuses.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "daemon/wire/decoder.h"
#include "tests/support/raw_events.h"

namespace profd::wire {

inline std::string ErrorOf(const test::EventBytes& bytes) {
  const Result<Event> event = DecodeEvent({bytes});
  if (event) return "decoded";
  EXPECT_EQ(event.error().code, ErrorCode::kCorrupt);
  return event.error().message;
}

}  // namespace profd::wire
