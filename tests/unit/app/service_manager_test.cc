#include "daemon/app/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

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
  manager.Alive();
  manager.Stopping();
  EXPECT_THAT(socket.Take(),
              ElementsAre("READY=1\nSTATUS=serving", "RELOADING=1\nMONOTONIC_USEC=5000",
                          "WATCHDOG=1", "STOPPING=1\nSTATUS=ending sessions"));
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

TEST(WatchdogTest, IsFedOnlyWhenEveryStageMadeARoundSinceTheLastTime) {
  const testing::NotifySocket socket;
  const app::ServiceManager manager(false);
  app::Watchdog watchdog(manager);
  EXPECT_FALSE(watchdog.Tick(0, 100));  // the pipeline has not begun
  EXPECT_TRUE(watchdog.Tick(150, 200));
  EXPECT_FALSE(watchdog.Tick(150, 300));
  EXPECT_FALSE(watchdog.Tick(199, 400));  // a round that ended before the last feeding
  EXPECT_TRUE(watchdog.Tick(450, 500));
  EXPECT_THAT(socket.Take(), ElementsAre("WATCHDOG=1", "WATCHDOG=1"));
}

}  // namespace
}  // namespace profd::app
