#include "daemon/base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace profd {
namespace {

int OpenNull() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFdTest, ClosesWhatItOwns) {
  const int fd = OpenNull();
  {
    const UniqueFd owner(fd);
    EXPECT_TRUE(owner.valid());
    EXPECT_EQ(owner.get(), fd);
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(UniqueFdTest, OwnsNothingByDefault) {
  const UniqueFd none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.get(), -1);
}

TEST(UniqueFdTest, MovingPassesItOn) {
  const int first = OpenNull();
  const int second = OpenNull();
  UniqueFd one(first);
  UniqueFd two(second);
  two = std::move(one);
  EXPECT_FALSE(IsOpen(second));
  EXPECT_EQ(two.get(), first);
  const UniqueFd three(std::move(two));
  EXPECT_EQ(three.get(), first);
  EXPECT_TRUE(IsOpen(first));
}

TEST(UniqueFdTest, ReleaseAndReset) {
  const int first = OpenNull();
  UniqueFd owner(first);
  EXPECT_EQ(owner.Release(), first);
  EXPECT_FALSE(owner.valid());
  EXPECT_TRUE(IsOpen(first));
  owner.Reset(first);
  owner.Reset();
  EXPECT_FALSE(IsOpen(first));
}

}  // namespace
}  // namespace profd
