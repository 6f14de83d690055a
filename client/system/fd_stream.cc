#include "client/system/fd_stream.h"

#include <unistd.h>

#include <cerrno>

namespace profd::client {

FdStreambuf::FdStreambuf(int fd) : fd_(fd) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

bool FdStreambuf::WriteAll(const char* data, std::size_t size) {
  while (size > 0 && error_ == 0) {
    const ssize_t written = ::write(fd_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
    } else {
      data += written;
      size -= static_cast<std::size_t>(written);
      bytes_ += static_cast<std::uint64_t>(written);
    }
  }
  return error_ == 0;
}

bool FdStreambuf::Flush() {
  const bool ok = WriteAll(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return ok;
}

FdStreambuf::int_type FdStreambuf::overflow(int_type c) {
  if (!Flush()) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
  return traits_type::not_eof(c);
}

int FdStreambuf::sync() { return Flush() ? 0 : -1; }

std::streamsize FdStreambuf::xsputn(const char* data, std::streamsize size) {
  if (size < epptr() - pptr()) {
    traits_type::copy(pptr(), data, static_cast<std::size_t>(size));
    pbump(static_cast<int>(size));
    return size;
  }
  return Flush() && WriteAll(data, static_cast<std::size_t>(size)) ? size : 0;
}

}  // namespace profd::client
