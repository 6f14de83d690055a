#include "daemon/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

namespace profd {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0)
    return Error{ErrorCode::kInvalidArgument, std::to_string(number) + " is odd", "take another"};
  return number / 2;
}

Result<void> MustBeEven(int number) {
  const Result<int> half = Half(number);
  if (!half) return half.error();
  return {};
}

Result<int> Quarter(int number) {
  PROFD_TRY(MustBeEven(number));
  return Half(number / 2);
}

TEST(ResultTest, ValueOrError) {
  const Result<int> two = Half(4);
  ASSERT_TRUE(two);
  EXPECT_EQ(*two, 2);
  EXPECT_EQ(two.value(), 2);
  const Result<int> none = Half(3);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(none.error().message, "3 is odd");
  EXPECT_EQ(none.error().hint, "take another");
}

TEST(ResultTest, TryPassesTheErrorOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(7).error().message, "7 is odd");
  EXPECT_EQ(Quarter(6).error().message, "3 is odd");
  EXPECT_TRUE(MustBeEven(2));
}

TEST(ResultTest, ValuesMayBeMoveOnly) {
  Result<std::unique_ptr<int>> made(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 5);
}

TEST(ResultTest, WrapSaysWhatWasTriedAndKeepsCodeAndHint) {
  const Error error = Half(3).error().Wrap("cannot halve");
  EXPECT_EQ(error.message, "cannot halve: 3 is odd");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.hint, "take another");
}

TEST(ResultTest, ErrnoBecomesACodeAndASentence) {
  EXPECT_EQ(ErrorFromErrno(ENOENT, "cannot open x").message,
            "cannot open x: no such file or directory");
  EXPECT_EQ(ErrorFromErrno(ENOENT, "").code, ErrorCode::kNotFound);
  EXPECT_EQ(ErrorFromErrno(ESRCH, "").code, ErrorCode::kNotFound);
  EXPECT_EQ(ErrorFromErrno(EACCES, "").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ErrorFromErrno(EPERM, "").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ErrorFromErrno(ENOSPC, "").code, ErrorCode::kIo);
}

TEST(ResultDeathTest, ReadingWhatIsNotThereAborts) {
  EXPECT_DEATH(static_cast<void>(Half(3).value()), "");
  EXPECT_DEATH(static_cast<void>(Half(4).error()), "");
  EXPECT_DEATH(static_cast<void>(MustBeEven(4).error()), "");
}

}  // namespace
}  // namespace profd
