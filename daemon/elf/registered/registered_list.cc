#include "daemon/elf/registered/registered_list.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/elf/registered/process_bytes.h"

namespace profd::elf {
namespace {

// As GDB's documentation has them, for 64-bit programs.
struct Entry {
  std::uint64_t next = 0;
  std::uint64_t previous = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
struct Descriptor {
  std::uint32_t version = 0;
  std::uint32_t action = 0;
  std::uint64_t relevant = 0;  // the entry that was added or removed last
  std::uint64_t first = 0;
};
constexpr std::uint32_t kVersion = 1;

// One reading of one process's lists.
class Walk {
 public:
  explicit Walk(int memory) : memory_(memory) {}

  // Changes with each entry that is added or removed: its address, what stands there and the object
  // that this leads to. (A run time that frees an object may have the next one at its place.)
  // 0: none can be read.
  [[nodiscard]] std::uint64_t StampOf(std::span<const std::uint64_t> descriptors) const {
    std::uint64_t stamp = 0;
    for (const std::uint64_t address : descriptors) {
      const auto descriptor = Get<Descriptor>(address);
      if (!descriptor) continue;
      for (const std::uint64_t word :
           {address, std::uint64_t{descriptor->version} << 32 | descriptor->action,
            descriptor->relevant, descriptor->first, StampOfEntry(descriptor->relevant),
            StampOfEntry(descriptor->first)})
        stamp = std::max<std::uint64_t>(MixBits(stamp ^ word), 1);
    }
    return stamp;
  }

  void Follow(std::uint64_t address, RegisteredList& list) {
    const auto descriptor = Get<Descriptor>(address);
    if (!descriptor || descriptor->version != kVersion) return;
    for (std::uint64_t at = descriptor->first; at != 0;) {
      const bool is_new = seen_.insert(at).second;
      const auto entry = is_new && IsWithinBounds(list) ? Get<Entry>(at) : std::nullopt;
      if (!entry) {
        ++list.left_out;
        return;
      }
      Add(*entry, list);
      at = entry->next;
    }
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  template <typename T>
  [[nodiscard]] std::optional<T> Get(std::uint64_t address) const {
    T value;
    const ProcessBytes bytes(memory_, address, sizeof value);
    if (!bytes.Read(0, std::span(reinterpret_cast<char*>(&value), sizeof value)))
      return std::nullopt;
    return value;
  }

  [[nodiscard]] std::uint64_t StampOfEntry(std::uint64_t at) const {
    const auto entry = at == 0 ? std::nullopt : Get<Entry>(at);
    if (!entry) return 0;
    const auto object = RegisteredObject::Open(memory_, entry->address, entry->bytes);
    return MixBits(entry->next ^ MixBits(entry->address ^ MixBits(entry->bytes))) ^
           (object ? object->place().stamp : 0);
  }

  [[nodiscard]] bool IsWithinBounds(const RegisteredList& list) const {
    return list.objects.size() < RegisteredLists::kMaxObjects &&
           seen_.size() <= RegisteredLists::kMaxObjects && ranges_ < RegisteredLists::kMaxRanges &&
           std::chrono::steady_clock::now() < end_;
  }

  void Add(const Entry& entry, RegisteredList& list) {
    auto object = RegisteredObject::Open(memory_, entry.address, entry.bytes);
    if (!object) {
      ++list.left_out;
      return;
    }
    ranges_ += object->code().size();
    list.objects.push_back({object->place(), object->code()});
  }

  const int memory_;
  const Time end_ = std::chrono::steady_clock::now() + RegisteredLists::kMaxTime;
  std::unordered_set<std::uint64_t> seen_;  // addresses of entries
  std::size_t ranges_ = 0;
};

bool Reaches(const RegisteredEntry& object, std::uint64_t begin, std::uint64_t end) {
  return std::ranges::any_of(object.code, [&](const FunctionExtent& code) {
    return code.begin < end && begin < code.end;
  });
}

}  // namespace

const RegisteredEntry* RegisteredList::FindIn(std::uint64_t begin, std::uint64_t end,
                                              std::size_t& from) const {
  for (; from < objects.size(); ++from)
    if (Reaches(objects[from], begin, end)) return &objects[from++];
  return nullptr;
}

void PackList(const RegisteredList& list, reader::Packer& fields) {
  fields.Number(list.stamp).Number(list.left_out);
  fields.Number(static_cast<std::uint32_t>(list.objects.size()));
  for (const RegisteredEntry& object : list.objects) {
    fields.Plain(object.place).Number(static_cast<std::uint32_t>(object.code.size()));
    for (const FunctionExtent& code : object.code) fields.Plain(code);
  }
}

std::optional<RegisteredList> UnpackList(reader::Unpacker& fields) {
  RegisteredList list;
  list.stamp = fields.Number<std::uint64_t>();
  list.left_out = fields.Number<std::uint64_t>();
  const std::uint32_t objects = fields.Count(sizeof(RegisteredPlace) + sizeof(std::uint32_t));
  if (objects > RegisteredLists::kMaxObjects) return std::nullopt;
  for (std::uint32_t i = 0; i < objects && fields.ok(); ++i) {
    RegisteredEntry& object = list.objects.emplace_back();
    object.place = fields.Plain<RegisteredPlace>();
    const std::uint32_t ranges = fields.Count(sizeof(FunctionExtent));
    std::uint64_t end = 0;
    for (std::uint32_t range = 0; range < ranges; ++range) {
      const auto code = fields.Plain<FunctionExtent>();
      if (code.begin < end || code.end <= code.begin) return std::nullopt;
      end = code.end;
      object.code.push_back(code);
    }
  }
  if (!fields.ok()) return std::nullopt;
  return list;
}

Result<RegisteredListRef> RegisteredLists::Read(reader::FileOpener& opener, std::uint32_t pid) {
  const auto descriptors = finder_.Find(opener, pid);
  if (!descriptors) return descriptors.error();
  if (descriptors->empty()) return std::make_shared<const RegisteredList>();
  const auto opened = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = pid});
  if (!opened) return opened.error();
  Walk walk(opened->fd.get());
  const std::uint64_t stamp = walk.StampOf(*descriptors);
  if (stamp == 0) return Error{ErrorCode::kNotFound, "its memory cannot be read", ""};
  if (const auto* known = lists_.Find(pid); known != nullptr && (*known)->stamp == stamp)
    return *known;
  RegisteredList list;
  list.stamp = stamp;
  for (const std::uint64_t descriptor : *descriptors) walk.Follow(descriptor, list);
  return lists_.Put(pid, std::make_shared<const RegisteredList>(std::move(list)));
}

}  // namespace profd::elf
