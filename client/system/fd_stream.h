// FdStream: an ostream onto a file descriptor that remembers why a write failed.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <streambuf>

namespace profd::client {

// Does not own the descriptor. After a failed write everything else is discarded.
class FdStreambuf : public std::streambuf {
 public:
  explicit FdStreambuf(int fd);
  // errno of the first write that failed, 0 when none has.
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 protected:
  int_type overflow(int_type c) override;
  int sync() override;
  std::streamsize xsputn(const char* data, std::streamsize size) override;

 private:
  bool Write(const char* data, std::size_t size);
  bool Flush();

  const int fd_;
  int error_ = 0;
  std::uint64_t bytes_ = 0;  // written, without those of a write that failed
  std::array<char, 65536> buffer_;
};

}  // namespace profd::client
