// A store in a folder of its own, with a clock that follows its windows.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {

class StoreFixture : public ::testing::Test {
 protected:
  StoreFixture() {
    options_.path = folder_.Path("history.db");
    clock_.Set(1000 * kSecond, kStartUnixNs);
  }
  std::unique_ptr<SqliteStore> Open() {
    auto store = SqliteStore::Open(options_, clock_);
    if (store) return std::move(*store);
    ADD_FAILURE() << store.error().message;
    return nullptr;
  }
  [[nodiscard]] std::uint64_t FileBytes() const {
    std::uint64_t bytes = 0;
    for (const char* end : {"", "-wal"}) {
      std::error_code missing;
      const auto size = std::filesystem::file_size(options_.path + end, missing);
      if (!missing) bytes += size;
    }
    return bytes;
  }

  // In memory where there is such a place: syncs cost nothing there.
  test::TempFolder folder_{std::filesystem::exists("/dev/shm")
                               ? std::filesystem::path("/dev/shm")
                               : std::filesystem::temp_directory_path()};
  SqliteOptions options_;
  test::ManualClock clock_;
};

}  // namespace profd::store
