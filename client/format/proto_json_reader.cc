#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>
#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/format/proto_json.h"

namespace profd::client {
namespace {

namespace ondemand = simdjson::ondemand;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The fields of a message by both of their names.
class Names {
 public:
  explicit Names(const Descriptor& type) {
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor* field = type.field(i);
      fields_.emplace(field->name(), field);
      fields_.emplace(field->json_name(), field);
    }
  }
  // Null: not known.
  [[nodiscard]] const FieldDescriptor* Find(std::string_view name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const FieldDescriptor*> fields_;
};

// Of one text. What is read returns false where that is wrong; error() says why.
class Reader {
 public:
  [[nodiscard]] bool Read(ondemand::object object, Message& message) {
    const Descriptor& type = *message.GetDescriptor();
    const Names& names = names_.try_emplace(&type, type).first->second;
    for (auto entry : object) {
      if (!Has(entry.error())) return false;
      ondemand::field field = entry.value_unsafe();
      std::string_view name;
      if (!Has(field.unescaped_key().get(name))) return false;
      const FieldDescriptor* known = names.Find(name);
      if (known != nullptr && !ReadField(field.value(), message, *known)) return false;
    }
    return true;
  }
  [[nodiscard]] Error error() const { return Error{ErrorCode::kCorrupt, error_, ""}; }

  [[nodiscard]] bool Has(simdjson::error_code code) {
    if (code == simdjson::SUCCESS) return true;
    if (error_.empty()) error_ = simdjson::error_message(code);
    return false;
  }

 private:
  [[nodiscard]] bool Wrong(const FieldDescriptor& field, const char* what) {
    if (error_.empty()) error_ = "\"" + field.name() + "\" holds " + what;
    return false;
  }

  [[nodiscard]] static bool IsNull(ondemand::value& value) {
    ondemand::json_type type;
    return value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::null;
  }

  [[nodiscard]] bool ReadField(ondemand::value value, Message& message,
                               const FieldDescriptor& field) {
    if (IsNull(value)) return true;
    if (!field.is_repeated()) return ReadOne(value, message, field);
    if (field.is_map()) return ReadMap(value, message, field);
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) return Wrong(field, "no list");
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return ReadNumbers<std::int32_t>(array, message, field);
      case FieldDescriptor::CPPTYPE_INT64:
        return ReadNumbers<std::int64_t>(array, message, field);
      case FieldDescriptor::CPPTYPE_UINT32:
        return ReadNumbers<std::uint32_t>(array, message, field);
      case FieldDescriptor::CPPTYPE_UINT64:
        return ReadNumbers<std::uint64_t>(array, message, field);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return ReadNumbers<double>(array, message, field);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return ReadNumbers<float>(array, message, field);
      case FieldDescriptor::CPPTYPE_BOOL:
        return ReadList<bool>(array, message, field, [&](ondemand::value& element, bool& to) {
          return Has(element.get_bool().get(to));
        });
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadList<std::int32_t>(array, message, field,
                                      [&](ondemand::value& element, int& to) {
                                        bool known = false;
                                        return ReadEnum(element, field, to, known);
                                      });
      case FieldDescriptor::CPPTYPE_STRING:
        return ReadStrings(array, message, field);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return ReadMessages(array, message, field);
    }
    return false;
  }

  [[nodiscard]] bool ReadOne(ondemand::value& value, Message& message,
                             const FieldDescriptor& field) {
    const auto& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return ReadInto<std::int32_t>(value, field, [&](std::int32_t number) {
          reflection.SetInt32(&message, &field, number);
        });
      case FieldDescriptor::CPPTYPE_INT64:
        return ReadInto<std::int64_t>(value, field, [&](std::int64_t number) {
          reflection.SetInt64(&message, &field, number);
        });
      case FieldDescriptor::CPPTYPE_UINT32:
        return ReadInto<std::uint32_t>(value, field, [&](std::uint32_t number) {
          reflection.SetUInt32(&message, &field, number);
        });
      case FieldDescriptor::CPPTYPE_UINT64:
        return ReadInto<std::uint64_t>(value, field, [&](std::uint64_t number) {
          reflection.SetUInt64(&message, &field, number);
        });
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return ReadInto<double>(
            value, field, [&](double number) { reflection.SetDouble(&message, &field, number); });
      case FieldDescriptor::CPPTYPE_FLOAT:
        return ReadInto<float>(
            value, field, [&](float number) { reflection.SetFloat(&message, &field, number); });
      case FieldDescriptor::CPPTYPE_BOOL: {
        bool is_true = false;
        if (!Has(value.get_bool().get(is_true))) return false;
        reflection.SetBool(&message, &field, is_true);
        return true;
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        int number = 0;
        bool known = false;
        if (!ReadEnum(value, field, number, known)) return false;
        if (known) reflection.SetEnumValue(&message, &field, number);
        return true;
      }
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string_view text;
        if (value.get_string().get(text) != simdjson::SUCCESS) return Wrong(field, "no text");
        reflection.SetString(&message, &field, std::string(text));
        return true;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        ondemand::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) return Wrong(field, "no object");
        return Read(object, *reflection.MutableMessage(&message, &field));
      }
    }
    return false;
  }

  template <typename T, typename Set>
  [[nodiscard]] bool ReadInto(ondemand::value& value, const FieldDescriptor& field,
                              const Set& set) {
    T number{};
    if (!ReadNumber(value, number)) return Wrong(field, "no number of its range");
    set(number);
    return true;
  }

  template <typename T>
  [[nodiscard]] bool ReadNumbers(ondemand::array& array, Message& message,
                                 const FieldDescriptor& field) {
    return ReadList<T>(array, message, field, [&](ondemand::value& element, T& to) {
      return ReadNumber(element, to) || Wrong(field, "no numbers of its range");
    });
  }

  template <typename T, typename ReadElement>
  [[nodiscard]] bool ReadList(ondemand::array& array, Message& message,
                              const FieldDescriptor& field, const ReadElement& read) {
    const auto list = message.GetReflection()->GetMutableRepeatedFieldRef<T>(&message, &field);
    for (auto entry : array) {
      if (!Has(entry.error())) return false;
      ondemand::value element = entry.value_unsafe();
      T to{};
      if (!read(element, to)) return false;
      list.Add(to);
    }
    return true;
  }

  [[nodiscard]] bool ReadStrings(ondemand::array& array, Message& message,
                                 const FieldDescriptor& field) {
    const auto list =
        message.GetReflection()->GetMutableRepeatedFieldRef<std::string>(&message, &field);
    for (auto entry : array) {
      std::string_view text;
      if (entry.get_string().get(text) != simdjson::SUCCESS) return Wrong(field, "no texts");
      list.Add(std::string(text));
    }
    return true;
  }

  // Of texts.
  [[nodiscard]] bool ReadMap(ondemand::value& value, Message& message,
                             const FieldDescriptor& field) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return Wrong(field, "no object");
    for (auto entry : object) {
      std::string_view name;
      std::string_view text;
      if (entry.unescaped_key().get(name) != simdjson::SUCCESS ||
          entry.value().get_string().get(text) != simdjson::SUCCESS)
        return Wrong(field, "no texts");
      Message& added = *message.GetReflection()->AddMessage(&message, &field);
      const auto& descriptor = *added.GetDescriptor();
      added.GetReflection()->SetString(&added, descriptor.map_key(), std::string(name));
      added.GetReflection()->SetString(&added, descriptor.map_value(), std::string(text));
    }
    return true;
  }

  [[nodiscard]] bool ReadMessages(ondemand::array& array, Message& message,
                                  const FieldDescriptor& field) {
    const auto& reflection = *message.GetReflection();
    for (auto entry : array) {
      ondemand::object object;
      if (entry.get_object().get(object) != simdjson::SUCCESS) return Wrong(field, "no objects");
      if (!Read(object, *reflection.AddMessage(&message, &field))) return false;
    }
    return true;
  }

  // `known`: the number is that of the value that is named.
  [[nodiscard]] bool ReadEnum(ondemand::value& value, const FieldDescriptor& field, int& number,
                              bool& known) {
    std::string_view name;
    if (value.get_string().get(name) != simdjson::SUCCESS) {
      known = ReadNumber(value, number);
      return known || Wrong(field, "neither a name nor a number");
    }
    // In lists the same few values follow each other.
    if (field.enum_type() != last_enum_ || name != last_name_) {
      last_enum_ = field.enum_type();
      last_name_ = name;
      const auto* found = last_enum_->FindValueByName(last_name_);
      last_known_ = found != nullptr;
      last_number_ = last_known_ ? found->number() : 0;
    }
    number = last_number_;
    known = last_known_;
    return true;
  }

  template <typename T>
  [[nodiscard]] static bool ReadNumber(ondemand::value& value, T& to) {
    ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    if (type == ondemand::json_type::string) {
      std::string_view text;
      return value.get_string().get(text) == simdjson::SUCCESS && ParseNumber(text, to);
    }
    ondemand::number number;
    if (value.get_number().get(number) != simdjson::SUCCESS) return false;
    if (number.is_uint64()) return Fit(number.get_uint64(), to);
    if (number.is_int64()) return Fit(number.get_int64(), to);
    return Fit(number.get_double(), to);
  }

  template <typename From, typename T>
  [[nodiscard]] static bool Fit(From number, T& to) {
    if constexpr (std::floating_point<T>) {
      to = static_cast<T>(number);
      return true;
    } else if constexpr (std::floating_point<From>) {
      // 2^digits is the first that is too large, and a double holds it.
      const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
      const double begin = std::signed_integral<T> ? -end : 0;
      if (!(number >= begin && number < end) || std::trunc(number) != number) return false;
      to = static_cast<T>(number);
      return true;
    } else {
      to = static_cast<T>(number);
      return std::in_range<T>(number);
    }
  }

  template <typename T>
  [[nodiscard]] static bool ParseNumber(std::string_view text, T& to) {
    if constexpr (std::floating_point<T>) {
      constexpr T kInfinity = std::numeric_limits<T>::infinity();
      if (text == "Infinity" || text == "-Infinity") {
        to = text.starts_with('-') ? -kInfinity : kInfinity;
        return true;
      }
      if (text == "NaN") {
        to = std::numeric_limits<T>::quiet_NaN();
        return true;
      }
    }
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
    return code == std::errc() && end == text.data() + text.size();
  }

  std::unordered_map<const Descriptor*, Names> names_;
  const google::protobuf::EnumDescriptor* last_enum_ = nullptr;
  std::string last_name_;
  int last_number_ = 0;
  bool last_known_ = false;
  std::string error_;
};

}  // namespace

Result<void> ReadProtoJson(std::string& text, Message& message) {
  const std::size_t bytes = text.size();
  text.reserve(bytes + simdjson::SIMDJSON_PADDING);
  Reader reader;
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  const simdjson::padded_string_view padded(text.data(), bytes, text.capacity());
  if (!reader.Has(parser.iterate(padded).get(document)) ||
      !reader.Has(document.get_object().get(object)) || !reader.Read(object, message))
    return reader.error();
  const char* rest = nullptr;
  if (document.current_location().get(rest) != simdjson::OUT_OF_BOUNDS)
    return Error{ErrorCode::kCorrupt, "something follows behind its end", ""};
  return {};
}

}  // namespace profd::client
