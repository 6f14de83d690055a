#include "daemon/symbolize/names/demangle.h"

#include <cctype>
#include <csetjmp>
#include <cstddef>
#include <string>
#include <string_view>

#define HAVE_DECL_BASENAME 1  // demangle.h would declare glibc's basename in another way
#include <libiberty/demangle.h>

#include "daemon/symbolize/names/clean_text.h"

namespace profd::symbolize {
namespace {

constexpr std::size_t kMaxMangledBytes = 4096;
constexpr std::size_t kMaxNameBytes = 512;
constexpr std::size_t kMaxOutputBytes = 16u << 10;  // room to fold lists in before it is cut

// Substitutions let a short name stand for an output of any length. The demanglers print as they
// go, so the way to stop them is to leave from within the callback; both are C.
struct Output {
  std::string text;
  std::jmp_buf full;
};

void Append(const char* chunk, std::size_t bytes, void* opaque) {
  auto& output = *static_cast<Output*>(opaque);
  if (output.text.size() + bytes <= kMaxOutputBytes) {
    output.text.append(chunk, bytes);
    return;
  }
  // While libiberty prints a Rust identifier in punycode it owns memory, and prints single
  // characters: leave at the next separator instead.
  const bool separator = bytes >= 2 && static_cast<unsigned char>(chunk[0]) < 0x80;
  if (separator) std::longjmp(output.full, 1);
}

constexpr std::string_view kAbiTag = "[abi:";

enum class Language { kCpp, kRust };

// False when `mangled` is not a name of this language. `output` may be cut at kMaxOutputBytes.
bool Run(Language language, const char* mangled, int options, Output& output) {
  output.text.clear();
  if (setjmp(output.full) != 0) return true;
  const int done = language == Language::kRust
                       ? rust_demangle_callback(mangled, options, Append, &output)
                       : cplus_demangle_v3_callback(mangled, options, Append, &output);
  return done != 0 && !output.text.empty();
}

// End of an operator's own symbols ("operator<<", "operator->") that starts at `at`, else `at`:
// these angle brackets are none.
std::size_t SkipOperator(std::string_view name, std::size_t at) {
  constexpr std::string_view kOperator = "operator";
  const bool whole_word = at == 0 || (std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0 &&
                                      name[at - 1] != '_');
  if (!whole_word || !name.substr(at).starts_with(kOperator)) return at;
  const std::size_t end = at + kOperator.size();
  // Longest first.
  for (const std::string_view symbols :
       {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"}) {
    if (name.substr(end).starts_with(symbols)) return end + symbols.size();
  }
  return end;
}

// Replaces the contents of template argument lists nested deeper than `depth` with "...".
// "" when brackets do not match.
std::string FoldTemplates(std::string_view name, std::size_t depth) {
  std::string folded;
  std::size_t open = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::size_t after_operator = SkipOperator(name, i);
    if (after_operator != i) {
      if (open <= depth) folded += name.substr(i, after_operator - i);
      i = after_operator - 1;
      continue;
    }
    const bool arrow = name[i] == '>' && i > 0 && name[i - 1] == '-';
    if (name[i] == '>' && !arrow) {
      if (open == 0) return "";
      if (--open == depth) folded += "...";
    }
    if (open <= depth) folded += name[i];
    if (name[i] == '<') ++open;
  }
  return open == 0 ? folded : "";
}

std::string Shorten(const std::string& name) {
  constexpr std::size_t kDeepest = 8;
  for (std::size_t depth = kDeepest; name.size() > kMaxNameBytes; --depth) {
    std::string folded = FoldTemplates(name, depth);
    if (!folded.empty() && folded.size() <= kMaxNameBytes) return folded;
    if (depth == 0) break;
  }
  return name;
}

// End of an ABI tag "[abi:...]" that begins at `at`; `at`: none does.
std::size_t SkipAbiTag(std::string_view name, std::size_t at) {
  if (!name.substr(at).starts_with(kAbiTag)) return at;
  const std::size_t end = name.find(']', at);
  return end == std::string_view::npos ? at : end + 1;
}

// Without the two tags by which compilers of dynamic languages distinguish the versions of one
// function: "[abi:v1][abi:c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3d]", a number, and encoded what
// the version was compiled for. Tags that people write are words, and stay.
std::string WithoutVersionTags(const std::string& name) {
  constexpr std::size_t kLeastFlags = 20;
  for (std::size_t at = name.find(kAbiTag); at != std::string::npos;
       at = name.find(kAbiTag, at + 1)) {
    const std::size_t first = at + kAbiTag.size();
    const std::size_t flags = SkipAbiTag(name, at);
    const std::size_t end = SkipAbiTag(name, flags);
    const bool is_number = flags > first + 2 && name[first] == 'v' &&
                           name.find_first_not_of("0123456789", first + 1) == flags - 1;
    if (is_number && end > flags + kAbiTag.size() + kLeastFlags)
      return name.substr(0, at) + name.substr(end);
  }
  return name;
}

}  // namespace

DemangledName Demangle(std::string_view symbol) {
  DemangledName plain{CleanText(symbol), ""};
  const bool v0 = symbol.starts_with("_R");
  if ((!v0 && !symbol.starts_with("_Z")) || symbol.size() > kMaxMangledBytes) return plain;

  const std::string mangled(symbol);
  Output output;
  // Rust's back references may lead to themselves: there the demangler's own limit must stand. For
  // C++ it would refuse names of 1,024 bytes, which exist, while it recurses by length alone.
  if (Run(Language::kRust, mangled.c_str(), DMGL_NO_OPTS, output))
    return {CleanText(Shorten(output.text), kMaxNameBytes), ""};
  if (v0 || !Run(Language::kCpp, mangled.c_str(), DMGL_NO_RECURSE_LIMIT, output)) return plain;
  DemangledName demangled{CleanText(Shorten(WithoutVersionTags(output.text)), kMaxNameBytes), ""};
  if (Run(Language::kCpp, mangled.c_str(), DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, output))
    demangled.full_name = CleanText(output.text);
  if (demangled.full_name == demangled.name) demangled.full_name.clear();
  return demangled;
}

}  // namespace profd::symbolize
