#include "daemon/app/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cstdlib>
#include <memory>
#include <sstream>

#include "tests/support/notify_socket.h"

namespace profd::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ServiceManagerTest, SaysWhatProfdDoes) {
  const testing::NotifySocket socket;
  ASSERT_TRUE(socket.bound());
  const app::ServiceManager manager(false);
  manager.Ready("serving");
  manager.Reloading(5'000'000);
  manager.Stopping();
  EXPECT_THAT(socket.Take(),
              ElementsAre("READY=1\nSTATUS=serving", "RELOADING=1\nMONOTONIC_USEC=5000",
                          "STOPPING=1\nSTATUS=ending sessions"));
}

TEST(ServiceManagerTest, ThePrivateProfdOfACommandSpeaksToNoManager) {
  const testing::NotifySocket socket;
  setenv("WATCHDOG_USEC", "1000000", 1);
  const app::ServiceManager manager(true);
  manager.Ready("serving");
  EXPECT_THAT(socket.Take(), IsEmpty());
  EXPECT_FALSE(manager.WatchdogInterval());
  EXPECT_EQ(app::ServiceManager(false).WatchdogInterval(), std::chrono::seconds(1));
  unsetenv("WATCHDOG_USEC");
  EXPECT_FALSE(app::ServiceManager(false).WatchdogInterval());
}

TEST(WatchdogTest, IsFedOnlyWhileProfdWorksAndTheLogSaysWhyNot) {
  const testing::NotifySocket socket;
  setenv("WATCHDOG_USEC", "1000000", 1);
  const app::ServiceManager manager(false);
  std::ostringstream said;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  logger.set_pattern("%l: %v");
  app::Watchdog watchdog(manager, logger);
  EXPECT_TRUE(watchdog.Tick(""));
  EXPECT_FALSE(watchdog.Tick("worker: no progress for 31 s"));
  EXPECT_FALSE(watchdog.Tick("worker: no progress for 41 s"));
  EXPECT_THAT(socket.Take(), ElementsAre("WATCHDOG=1"));
  EXPECT_TRUE(watchdog.Tick(""));
  EXPECT_TRUE(watchdog.Tick(""));
  unsetenv("WATCHDOG_USEC");
  EXPECT_TRUE(watchdog.Tick(""));  // no manager expects it
  EXPECT_THAT(socket.Take(), ElementsAre("WATCHDOG=1", "WATCHDOG=1"));
  EXPECT_EQ(said.str(),
            "error: profd does not work: worker: no progress for 31 s\ninfo: profd works again\n");
}

}  // namespace
}  // namespace profd::app
