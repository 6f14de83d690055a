#include "daemon/unwind/cfi/dynamic_symbols.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>

namespace profd::unwind {
namespace {

constexpr std::uint64_t kMaxDynamicBytes = 1u << 20;
constexpr int kMaxChain = 4096;

// Reads values at addresses of the object, out of its file.
class Memory {
 public:
  explicit Memory(ElfText& text) : text_(text) {}

  [[nodiscard]] const char* At(std::uint64_t vaddr, std::uint64_t bytes) {
    const auto part = text_.PartAt(vaddr);
    if (!part || part->bytes < bytes) return nullptr;
    const auto fetched = text_.image().Fetch(part->offset, bytes);
    return fetched ? fetched->data() : nullptr;
  }
  template <typename T>
  [[nodiscard]] std::optional<T> Get(std::uint64_t vaddr) {
    const char* bytes = At(vaddr, sizeof(T));
    if (bytes == nullptr) return std::nullopt;
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

 private:
  ElfText& text_;
};

struct Dynamic {
  std::uint64_t hash = 0;
  std::uint64_t symbols = 0;
  std::uint64_t strings = 0;
  bool needs_libraries = false;
};

std::optional<Dynamic> ReadDynamic(ElfText& text) {
  const ElfText::Segment* segment = text.FindSegment(PT_DYNAMIC);
  if (segment == nullptr || segment->file_bytes > kMaxDynamicBytes) return std::nullopt;
  const auto bytes = text.image().Fetch(segment->file_offset, segment->file_bytes);
  if (!bytes) return std::nullopt;
  Dynamic dynamic;
  Elf64_Dyn entry;
  for (std::size_t at = 0; at + sizeof entry <= bytes->size(); at += sizeof entry) {
    std::memcpy(&entry, bytes->data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_GNU_HASH) dynamic.hash = entry.d_un.d_ptr;
    if (entry.d_tag == DT_SYMTAB) dynamic.symbols = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRTAB) dynamic.strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_NEEDED) dynamic.needs_libraries = true;
  }
  return dynamic;
}

std::uint32_t GnuHash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
  return hash;
}

}  // namespace

std::optional<DynamicSymbol> FindSymbol(ElfText& text, std::string_view name) {
  const auto dynamic = ReadDynamic(text);
  if (!dynamic || dynamic->hash == 0 || dynamic->symbols == 0 || dynamic->strings == 0)
    return std::nullopt;
  Memory memory(text);
  // Buckets, first symbol in the chains, words of the Bloom filter.
  const auto buckets = memory.Get<std::uint32_t>(dynamic->hash);
  const auto first = memory.Get<std::uint32_t>(dynamic->hash + 4);
  const auto bloom_words = memory.Get<std::uint32_t>(dynamic->hash + 8);
  if (!buckets || !first || !bloom_words || *buckets == 0) return std::nullopt;
  const std::uint64_t buckets_at = dynamic->hash + 16 + 8ull * *bloom_words;
  const std::uint64_t chains_at = buckets_at + 4ull * *buckets;
  const std::uint32_t hash = GnuHash(name);
  const auto begin = memory.Get<std::uint32_t>(buckets_at + 4ull * (hash % *buckets));
  if (!begin || *begin < *first) return std::nullopt;
  for (std::uint64_t i = *begin; i < *begin + std::uint64_t{kMaxChain}; ++i) {
    const auto chain = memory.Get<std::uint32_t>(chains_at + 4 * (i - *first));
    if (!chain) return std::nullopt;
    if ((*chain | 1) == (hash | 1)) {
      const auto symbol = memory.Get<Elf64_Sym>(dynamic->symbols + i * sizeof(Elf64_Sym));
      if (!symbol) return std::nullopt;
      const char* text_of = memory.At(dynamic->strings + symbol->st_name, name.size() + 1);
      if (text_of != nullptr && std::memcmp(text_of, name.data(), name.size()) == 0 &&
          text_of[name.size()] == '\0') {
        if (symbol->st_shndx == SHN_UNDEF) return std::nullopt;
        return DynamicSymbol{symbol->st_value, symbol->st_size};
      }
    }
    if ((*chain & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

bool DefinesSymbol(ElfText& text, std::string_view name) {
  return FindSymbol(text, name).has_value();
}

bool NeedsLibraries(ElfText& text) {
  const auto dynamic = ReadDynamic(text);
  return dynamic && dynamic->needs_libraries;
}

}  // namespace profd::unwind
