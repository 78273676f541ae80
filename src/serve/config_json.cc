#include "serve/config_json.h"

#include <google/protobuf/message.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "model_config.pb.h"

namespace ridge::serve {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Json message_to_json(const Message& message);

Json enum_to_json(const FieldDescriptor* field, int number) {
  const EnumValueDescriptor* value = field->enum_type()->FindValueByNumber(number);
  return value ? Json(value->name()) : Json(number);
}

// Writes numbers that JSON lacks as protobuf's JSON does.
Json number_to_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

Json single_to_json(const Message& message, const FieldDescriptor* field) {
  const Reflection& in = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return in.GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64: return in.GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32: return in.GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64: return in.GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_DOUBLE: return number_to_json(in.GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT: return number_to_json(in.GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_BOOL: return in.GetBool(message, field);
    case FieldDescriptor::CPPTYPE_ENUM: return enum_to_json(field, in.GetEnumValue(message, field));
    case FieldDescriptor::CPPTYPE_STRING: return in.GetString(message, field);
    case FieldDescriptor::CPPTYPE_MESSAGE: return message_to_json(in.GetMessage(message, field));
  }
  return nullptr;
}

Json element_to_json(const Message& message, const FieldDescriptor* field, int i) {
  const Reflection& in = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return in.GetRepeatedInt32(message, field, i);
    case FieldDescriptor::CPPTYPE_INT64: return in.GetRepeatedInt64(message, field, i);
    case FieldDescriptor::CPPTYPE_UINT32: return in.GetRepeatedUInt32(message, field, i);
    case FieldDescriptor::CPPTYPE_UINT64: return in.GetRepeatedUInt64(message, field, i);
    case FieldDescriptor::CPPTYPE_DOUBLE: return number_to_json(in.GetRepeatedDouble(message, field, i));
    case FieldDescriptor::CPPTYPE_FLOAT: return number_to_json(in.GetRepeatedFloat(message, field, i));
    case FieldDescriptor::CPPTYPE_BOOL: return in.GetRepeatedBool(message, field, i);
    case FieldDescriptor::CPPTYPE_ENUM: return enum_to_json(field, in.GetRepeatedEnumValue(message, field, i));
    case FieldDescriptor::CPPTYPE_STRING: return in.GetRepeatedString(message, field, i);
    case FieldDescriptor::CPPTYPE_MESSAGE: return message_to_json(in.GetRepeatedMessage(message, field, i));
  }
  return nullptr;
}

// A map field is a list of entries with fields 1 = key and 2 = value, in no order; JSON keys are sorted strings.
Json map_to_json(const Message& message, const FieldDescriptor* field) {
  std::map<std::string, Json> sorted;
  const Reflection& in = *message.GetReflection();
  const FieldDescriptor* key = field->message_type()->map_key();
  const FieldDescriptor* value = field->message_type()->map_value();
  for (int i = 0; i < in.FieldSize(message, field); ++i) {
    const Message& entry = in.GetRepeatedMessage(message, field, i);
    Json name = single_to_json(entry, key);
    sorted[name.is_string() ? name.get<std::string>() : name.dump()] = single_to_json(entry, value);
  }
  Json json = Json::object();
  for (auto& [name, found] : sorted) json[name] = std::move(found);
  return json;
}

Json list_to_json(const Message& message, const FieldDescriptor* field) {
  Json json = Json::array();
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
    json.push_back(element_to_json(message, field, i));
  return json;
}

Json message_to_json(const Message& message) {
  Json json = Json::object();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->is_map())
      json[field->name()] = map_to_json(message, field);
    else if (field->is_repeated())
      json[field->name()] = list_to_json(message, field);
    else if (!field->has_presence() || message.GetReflection()->HasField(message, field))
      json[field->name()] = single_to_json(message, field);
  }
  return json;
}

}  // namespace

Json config_to_json(const inference::ModelConfig& config) { return message_to_json(config); }

}  // namespace ridge::serve
