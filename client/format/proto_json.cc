#include "client/format/proto_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/text/escape.h"

namespace profd::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class Writer {
 public:
  void Write(const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);  // in the order of their numbers
    text_ += '{';
    bool first = true;
    for (const FieldDescriptor* field : fields) {
      if (!first) text_ += ',';
      first = false;
      text_ += '"';
      text_ += field->name();
      text_ += "\":";
      if (field->is_map())
        WriteMap(message, *field);
      else if (field->is_repeated())
        WriteList(message, *field);
      else
        WriteValue(message, *field);
    }
    text_ += '}';
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  // Of texts, by their names: the order in the message is by chance.
  void WriteMap(const Message& message, const FieldDescriptor& field) {
    const auto& reflection = *message.GetReflection();
    std::map<std::string, std::string> texts;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      const auto& of = *entry.GetReflection();
      texts.emplace(of.GetString(entry, entry.GetDescriptor()->map_key()),
                    of.GetString(entry, entry.GetDescriptor()->map_value()));
    }
    text_ += '{';
    bool first = true;
    for (const auto& [name, value] : texts) {
      if (!first) text_ += ',';
      first = false;
      text_ += QuoteJson(name) + ':' + QuoteJson(value);
    }
    text_ += '}';
  }

  void WriteList(const Message& message, const FieldDescriptor& field) {
    const int size = message.GetReflection()->FieldSize(message, &field);
    text_ += '[';
    for (int i = 0; i < size; ++i) {
      if (i != 0) text_ += ',';
      WriteElement(message, field, i);
    }
    text_ += ']';
  }

  void WriteValue(const Message& message, const FieldDescriptor& field) {
    const auto& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return Number(reflection.GetInt32(message, &field));
      case FieldDescriptor::CPPTYPE_INT64:
        return Number(reflection.GetInt64(message, &field));
      case FieldDescriptor::CPPTYPE_UINT32:
        return Number(reflection.GetUInt32(message, &field));
      case FieldDescriptor::CPPTYPE_UINT64:
        return Number(reflection.GetUInt64(message, &field));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Number(reflection.GetDouble(message, &field));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Number(reflection.GetFloat(message, &field));
      case FieldDescriptor::CPPTYPE_BOOL:
        return Bool(reflection.GetBool(message, &field));
      case FieldDescriptor::CPPTYPE_ENUM:
        return Enum(field, reflection.GetEnumValue(message, &field));
      case FieldDescriptor::CPPTYPE_STRING:
        text_ += QuoteJson(reflection.GetString(message, &field));
        return;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Write(reflection.GetMessage(message, &field));
    }
  }

  void WriteElement(const Message& message, const FieldDescriptor& field, int i) {
    const auto& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return Number(reflection.GetRepeatedInt32(message, &field, i));
      case FieldDescriptor::CPPTYPE_INT64:
        return Number(reflection.GetRepeatedInt64(message, &field, i));
      case FieldDescriptor::CPPTYPE_UINT32:
        return Number(reflection.GetRepeatedUInt32(message, &field, i));
      case FieldDescriptor::CPPTYPE_UINT64:
        return Number(reflection.GetRepeatedUInt64(message, &field, i));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Number(reflection.GetRepeatedDouble(message, &field, i));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Number(reflection.GetRepeatedFloat(message, &field, i));
      case FieldDescriptor::CPPTYPE_BOOL:
        return Bool(reflection.GetRepeatedBool(message, &field, i));
      case FieldDescriptor::CPPTYPE_ENUM:
        return Enum(field, reflection.GetRepeatedEnumValue(message, &field, i));
      case FieldDescriptor::CPPTYPE_STRING:
        text_ += QuoteJson(reflection.GetRepeatedString(message, &field, i));
        return;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Write(reflection.GetRepeatedMessage(message, &field, i));
    }
  }

  void Bool(bool value) { text_ += value ? "true" : "false"; }

  // A value that a newer profd has sent has no name here.
  void Enum(const FieldDescriptor& field, int value) {
    const auto* known = field.enum_type()->FindValueByNumber(value);
    if (known == nullptr) return Number(value);
    text_ += '"';
    text_ += known->name();
    text_ += '"';
  }

  template <std::integral T>
  void Number(T value) {
    if (IsJsonNumber(value)) return Append(value);
    text_ += '"';
    Append(value);
    text_ += '"';
  }

  template <std::floating_point T>
  void Number(T value) {
    if (std::isfinite(value)) return Append(value);
    if (std::isnan(value))
      text_ += R"("NaN")";
    else
      text_ += value > 0 ? R"("Infinity")" : R"("-Infinity")";
  }

  // The shortest text that is read as the same number.
  template <typename T>
  void Append(T value) {
    std::array<char, 32> digits;
    text_.append(digits.data(),
                 std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }

  std::string text_;
};

}  // namespace

std::string ProtoJson(const Message& message) {
  Writer writer;
  writer.Write(message);
  return writer.Take();
}

}  // namespace profd::client
