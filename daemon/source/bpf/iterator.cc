#include "daemon/source/bpf/iterator.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace profd::source {
namespace {

constexpr std::size_t kChunkBytes = 65'536;
// A machine of 100,000 threads with deep stacks; what is beyond is given up.
constexpr std::size_t kMaxBytes = 256u << 20;

// Appends one read. False at the end.
template <typename Bytes>
Result<bool> ReadChunk(int fd, Bytes* bytes) {
  const std::size_t before = bytes->size();
  bytes->resize(before + kChunkBytes);
  ssize_t got = 0;
  do {
    got = ::read(fd, bytes->data() + before, kChunkBytes);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  const int error = errno;
  bytes->resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return ErrorFromErrno(error, "cannot read a task iterator");
  return got > 0 && bytes->size() < kMaxBytes;
}

}  // namespace

Result<UniqueFd> OpenIterator(int link_fd) {
  UniqueFd fd(::bpf_iter_create(link_fd));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot create a task iterator");
  return fd;
}

Result<std::vector<std::byte>> ReadIterator(int link_fd) {
  const auto iterator = OpenIterator(link_fd);
  if (!iterator) return iterator.error();
  std::vector<std::byte> bytes;
  while (true) {
    const auto more = ReadChunk(iterator->get(), &bytes);
    if (!more) return more.error();
    if (!*more) return bytes;
  }
}

Result<std::string> IteratorParser::Answer(std::string_view /*request*/,
                                           reader::ParserContext context) {
  if (context.descriptors.size() != 1)
    return Error{ErrorCode::kInvalidArgument, "no task iterator to read", ""};
  std::string bytes;
  for (;;) {
    const auto more = ReadChunk(context.descriptors.front().get(), &bytes);
    if (!more) return more.error();
    if (!*more) return bytes;
  }
}

std::vector<wire::EventBytes> SplitEvents(std::span<const std::byte> bytes, bool* malformed) {
  std::vector<wire::EventBytes> events;
  while (!bytes.empty()) {
    profd_event header{};
    *malformed = !wire::ReadHeader(bytes, &header);
    if (*malformed) return events;
    events.emplace_back(bytes.begin(), bytes.begin() + header.size);
    bytes = bytes.subspan(header.size);
  }
  *malformed = false;
  return events;
}

}  // namespace profd::source
