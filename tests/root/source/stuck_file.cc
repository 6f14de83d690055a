#include "tests/root/source/stuck_file.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace profd::source {
namespace {

constexpr std::uint64_t kFileNode = 2;
constexpr std::uint64_t kFileBytes = 1u << 20;
constexpr std::uint64_t kForeverSeconds = 3'600;

fuse_attr AttributesOf(std::uint64_t node) {
  fuse_attr attributes{};
  attributes.ino = node;
  attributes.size = node == kFileNode ? kFileBytes : 0;
  attributes.mode = node == kFileNode ? S_IFREG | 0444 : S_IFDIR | 0555;
  attributes.nlink = 1;
  return attributes;
}

template <typename Body>
void Reply(int device, std::uint64_t unique, Body body) {
  fuse_out_header header{};
  header.len = sizeof(header) + sizeof(body);
  header.unique = unique;
  std::array<iovec, 2> parts{{{&header, sizeof(header)}, {&body, sizeof(body)}}};
  (void)!::writev(device, parts.data(), parts.size());
}

void Refuse(int device, std::uint64_t unique, int error) {
  fuse_out_header header{};
  header.len = sizeof(header);
  header.error = -error;
  header.unique = unique;
  (void)!::write(device, &header, sizeof(header));
}

// Sleeps for ever with a stack of its own whose first frame lies in `stuck`, as a hostile program
// may. `stack` lies below it: a walk goes up only.
[[noreturn]] void SleepWithFrame([[maybe_unused]] char* stack, [[maybe_unused]] char* stuck) {
#if defined(__x86_64__)
  static constexpr timespec kForever{.tv_sec = 3'600, .tv_nsec = 0};
  asm volatile("mov %[stack], %%rsp\n mov %[stuck], %%rbp\n syscall\n ud2"
               :
               : [stack] "r"(stack), [stuck] "r"(stuck), "a"(SYS_nanosleep), "D"(&kForever),
                 "S"(nullptr)
               : "memory");
#endif
  ::_exit(1);
}

}  // namespace

Puppet::Body Hanging(const std::string& path, uid_t user) {
  return [path, user](const Puppet::Strings& strings) {
    const bool is_user = ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
    const int fd = ::open(path.c_str(), O_RDONLY);
    constexpr std::size_t kPage = 4'096;
    auto* pages = static_cast<char*>(
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const bool mapped =
        ::mmap(pages + kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == pages + kPage;
    strings.Say({is_user && mapped ? 1u : 2u});
    SleepWithFrame(pages + kPage / 2, pages + kPage + 128);
  };
}

Result<std::unique_ptr<StuckFile>> StuckFile::Mount() {
  UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device.valid()) return Error{ErrorCode::kUnsupported, "no /dev/fuse", ""};
  std::string directory = "/tmp/profd_stuck.XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return ErrorFromErrno(errno, "mkdtemp");
  const std::string options =
      "fd=" + std::to_string(device.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (::mount("stuck", directory.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    const Error error{ErrorCode::kUnsupported, std::string("no FUSE: ") + std::strerror(errno), ""};
    ::rmdir(directory.c_str());
    return error;
  }
  return std::unique_ptr<StuckFile>(new StuckFile(std::move(directory), std::move(device)));
}

StuckFile::StuckFile(std::string directory, UniqueFd device)
    : directory_(std::move(directory)), device_(std::move(device)), server_([this] { Serve(); }) {}

StuckFile::~StuckFile() {
  // Ends every wait for an answer, and the server's read.
  ::umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);
  server_.join();
  ::rmdir(directory_.c_str());
}

void StuckFile::Serve() {
  std::vector<char> request(FUSE_MIN_READ_BUFFER + (1u << 17));
  while (true) {
    const ssize_t got = ::read(device_.get(), request.data(), request.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return;
    fuse_in_header header{};
    std::memcpy(&header, request.data(), sizeof(header));
    switch (header.opcode) {
      case FUSE_INIT: {
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = 31;
        out.max_write = 1u << 16;
        Reply(device_.get(), header.unique, out);
        break;
      }
      case FUSE_LOOKUP: {
        fuse_entry_out out{};
        out.nodeid = kFileNode;
        out.entry_valid = out.attr_valid = kForeverSeconds;
        out.attr = AttributesOf(kFileNode);
        Reply(device_.get(), header.unique, out);
        break;
      }
      case FUSE_GETATTR: {
        fuse_attr_out out{};
        out.attr_valid = kForeverSeconds;
        out.attr = AttributesOf(header.nodeid);
        Reply(device_.get(), header.unique, out);
        break;
      }
      case FUSE_OPEN:
        Reply(device_.get(), header.unique, fuse_open_out{});
        break;
      case FUSE_READ:
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        break;  // the point of it all; the others want no answer
      default:
        Refuse(device_.get(), header.unique, ENOSYS);
        break;
    }
  }
}

}  // namespace profd::source
