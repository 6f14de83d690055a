#include "daemon/process/label_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "bpf/shared/labels.h"

namespace profd::process {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string Record(const std::string& attributes, std::size_t claimed) {
  profd_label_head head{};
  head.valid = 1;
  head.attribute_bytes = static_cast<__u16>(claimed);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + attributes;
}
std::string Record(const std::string& attributes) { return Record(attributes, attributes.size()); }

std::string Attribute(char key, const std::string& value) {
  return std::string(1, key) + static_cast<char>(value.size()) + value;
}

TEST(LabelRecordTest, AttributesByTheirNumbers) {
  const auto record = ParseLabelRecord(Record(Attribute('\x03', "b") + Attribute('\x01', "")));
  EXPECT_THAT(record.attributes, ElementsAre(Pair(1, ""), Pair(3, "b")));
  EXPECT_EQ(record.trace_id, "");
  EXPECT_EQ(record.span_id, "");
}

TEST(LabelRecordTest, OfTwoOfOneNumberTheLastOneCounts) {
  const auto record = ParseLabelRecord(Record(Attribute('\x01', "a") + Attribute('\x01', "b")));
  EXPECT_THAT(record.attributes, ElementsAre(Pair(1, "b")));
}

TEST(LabelRecordTest, TraceAndSpanAsHex) {
  std::string bytes = Record("");
  bytes[0] = '\x01';
  bytes[15] = '\xfe';
  bytes[23] = '\x0a';
  const auto record = ParseLabelRecord(bytes);
  EXPECT_EQ(record.trace_id, "010000000000000000000000000000fe");
  EXPECT_EQ(record.span_id, "000000000000000a");
}

TEST(LabelRecordTest, WhatDoesNotFitEndsTheRecord) {
  const std::string whole = Attribute('\x01', "abc");
  EXPECT_THAT(ParseLabelRecord(Record(whole + "\x02", whole.size() + 1)).attributes,
              ElementsAre(Pair(1, "abc")));
  EXPECT_THAT(ParseLabelRecord(Record(whole + Attribute('\x02', "xyz").substr(0, 4))).attributes,
              ElementsAre(Pair(1, "abc")));
  EXPECT_THAT(ParseLabelRecord(Record(whole, whole.size() - 1)).attributes, IsEmpty());
  EXPECT_THAT(ParseLabelRecord(Record(whole, 10'000)).attributes, ElementsAre(Pair(1, "abc")))
      << "the record was cut";
  EXPECT_THAT(ParseLabelRecord(Record(whole).substr(0, 27)).attributes, IsEmpty());
  EXPECT_THAT(ParseLabelRecord("").attributes, IsEmpty());
}

}  // namespace
}  // namespace profd::process
