// The second BPF object finds the maps and global words of the first where it expects them.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "bpf/shared/control.h"
#include "profd_bpf.skel.h"
#include "profd_bpf_observe.skel.h"

namespace profd {
namespace {

struct Destroy {
  void operator()(profd_bpf* skeleton) const { profd_bpf__destroy(skeleton); }
  void operator()(profd_bpf_observe* skeleton) const { profd_bpf_observe__destroy(skeleton); }
};

using Words = std::map<std::string, std::size_t>;  // "section variable" -> offset

Words WordsOf(const bpf_object* object) {
  const btf* types = ::bpf_object__btf(object);
  Words words;
  for (std::uint32_t id = 1; id < ::btf__type_cnt(types); ++id) {
    const btf_type* type = ::btf__type_by_id(types, id);
    if (!::btf_is_datasec(type)) continue;
    const std::string section = ::btf__name_by_offset(types, type->name_off);
    if (section != ".data" && section != ".bss" && section != ".rodata") continue;
    const btf_var_secinfo* variables = ::btf_var_secinfos(type);
    for (std::uint16_t i = 0; i < ::btf_vlen(type); ++i) {
      const btf_type* variable = ::btf__type_by_id(types, variables[i].type);
      words[section + " " + ::btf__name_by_offset(types, variable->name_off)] = variables[i].offset;
    }
  }
  return words;
}

TEST(ObjectsTest, ObserveSharesTheMapsOfTheOthers) {
  const std::unique_ptr<profd_bpf, Destroy> all(profd_bpf__open());
  const std::unique_ptr<profd_bpf_observe, Destroy> observe(profd_bpf_observe__open());
  ASSERT_NE(all, nullptr);
  ASSERT_NE(observe, nullptr);
  int maps = 0;
  const bpf_map* map = nullptr;
  bpf_object__for_each_map(map, observe->obj) {
    const bpf_map* shared = ::bpf_object__find_map_by_name(all->obj, ::bpf_map__name(map));
    ASSERT_NE(shared, nullptr) << ::bpf_map__name(map);
    EXPECT_EQ(::bpf_map__type(map), ::bpf_map__type(shared)) << ::bpf_map__name(map);
    EXPECT_EQ(::bpf_map__key_size(map), ::bpf_map__key_size(shared)) << ::bpf_map__name(map);
    EXPECT_EQ(::bpf_map__value_size(map), ::bpf_map__value_size(shared)) << ::bpf_map__name(map);
    EXPECT_EQ(::bpf_map__max_entries(map), ::bpf_map__max_entries(shared)) << ::bpf_map__name(map);
    ++maps;
  }
  EXPECT_GT(maps, 3);
  EXPECT_EQ(WordsOf(all->obj), WordsOf(observe->obj));
  EXPECT_TRUE(WordsOf(all->obj).contains(".data control"));
}

}  // namespace
}  // namespace profd
