// UserNames: what the host calls its users.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace profd::source {

// Reads names from a file in the form of /etc/passwd, again if it has changed. A name service on
// the network could hold up events, so users who are only known there have no name. Bounded; safe
// from any thread.
class UserNames {
 public:
  explicit UserNames(std::string file) : file_(std::move(file)) {}

  // "" when the file has no such user.
  [[nodiscard]] std::string NameOf(std::uint32_t uid);

 private:
  static constexpr std::size_t kMaxFileBytes = 4u << 20;

  void ReadAgain();
  void AddLine(std::string_view line);

  const std::string file_;
  std::mutex mutex_;
  timespec changed_{};
  std::map<std::uint32_t, std::string> names_;
};

}  // namespace profd::source
