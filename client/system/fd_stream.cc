#include "client/system/fd_stream.h"

#include "daemon/base/files.h"

namespace profd::client {

FdStreambuf::FdStreambuf(int fd) : fd_(fd) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

bool FdStreambuf::Write(const char* data, std::size_t size) {
  if (error_ == 0) error_ = WriteAll(fd_, {data, size});
  if (error_ == 0) bytes_ += size;
  return error_ == 0;
}

bool FdStreambuf::Flush() {
  const bool ok = Write(pbase(), static_cast<std::size_t>(pptr() - pbase()));
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
  return Flush() && Write(data, static_cast<std::size_t>(size)) ? size : 0;
}

}  // namespace profd::client
