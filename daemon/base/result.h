// Result<T>: a value or an Error with a cause. No exceptions cross a folder boundary.
//
// Three ways to handle one:
//   1. pass it on:      if (!result) return result.error();           (or PROFD_TRY below)
//   2. add what was tried: return result.error().Wrap("cannot open process 1234");
//   3. decide here:     if (result.error().code == ErrorCode::kNotFound) ...
// Reading value() of a failed Result is a bug and aborts.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace profd {

// Each code has one gRPC status and one exit code of profctl (rpc/convert, client/exit_code).
enum class ErrorCode {
  kInvalidArgument,   // the caller requested nonsense
  kNotFound,          // no such process, file, session
  kPermissionDenied,  // a right is missing; the message names it
  kUnsupported,       // this kernel or build cannot do it
  kExhausted,         // a bound was reached
  kUnavailable,       // not now: the other side is gone
  kIo,                // reading or writing failed
  kCorrupt,           // bytes that do not mean what they must
  kInternal,          // a bug of ours
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence, lower case, no final stop: what and why
  std::string hint;     // what to do about it; may be empty

  // "<context>: <message>", same code and hint.
  [[nodiscard]] Error Wrap(std::string_view context) const {
    return Error{code, std::string(context) + ": " + message, hint};
  }
};

// From errno: ENOENT, ESRCH -> kNotFound; EACCES, EPERM -> kPermissionDenied; others -> kIo.
[[nodiscard]] Error ErrorFromErrno(int error_number, std::string_view context);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const T& value() const& { return Checked(), std::get<0>(state_); }
  [[nodiscard]] T& value() & { return Checked(), std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return Checked(), std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  [[nodiscard]] const Error& error() const {
    if (ok()) std::abort();
    return std::get<1>(state_);
  }

 private:
  void Checked() const {
    if (!ok()) std::abort();
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    if (ok()) std::abort();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace profd

// Evaluates an expression of type Result<void>; returns its error from the enclosing function.
#define PROFD_TRY(expression)                                                                     \
  do {                                                                                            \
    if (auto profd_try_result = (expression); !profd_try_result) return profd_try_result.error(); \
  } while (false)
