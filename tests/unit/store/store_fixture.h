// A store in a folder of its own, with a clock that follows its windows.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/store/sqlite/sqlite_store.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {

class StoreFixture : public ::testing::Test {
 protected:
  StoreFixture() {
    // In memory, where there is such a place: syncs are free there.
    std::string folder = std::filesystem::exists("/dev/shm") ? "/dev/shm/" : ::testing::TempDir();
    folder += "profd-store-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    options_.path = folder_ + "/history.db";
    clock_.Set(1000 * kSecond, kStartUnixNs);
  }
  ~StoreFixture() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
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

  std::string folder_;
  SqliteOptions options_;
  ManualClock clock_;
};

}  // namespace profd::store
