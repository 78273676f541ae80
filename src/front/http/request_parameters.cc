#include "front/http/request_parameters.h"

#include "front/infer_rules.h"

namespace ridge::front::http {
namespace {

namespace dom = simdjson::dom;

Result<serve::SequenceId> read_sequence_id(const dom::element& value) {
  if (value.is_string()) return serve::SequenceId(std::string(value.get_string().value_unsafe()));
  if (value.is_uint64()) return serve::SequenceId(value.get_uint64().value_unsafe());
  return wrong_type("parameter 'sequence_id'", "an unsigned integer or a string", value);
}

}  // namespace

Status check_parameter(const dom::key_value_pair& parameter) {
  if (!parameter.value.is_array() && !parameter.value.is_object()) return {};
  return wrong_type("parameter " + in_quotes(parameter.key), "a string, number or boolean", parameter.value);
}

Status RequestParameters::take(const dom::key_value_pair& parameter) {
  RIDGE_TRY(check_parameter(parameter));
  RIDGE_TRY(pick_member(parameter,
                        std::array{MemberTarget{"binary_data_output", &binary_}, MemberTarget{"priority", &priority_},
                                   MemberTarget{"timeout", &timeout_}, MemberTarget{"sequence_id", &sequence_},
                                   MemberTarget{"sequence_start", &start_}, MemberTarget{"sequence_end", &end_}}));
  return {};
}

Status RequestParameters::read_into(DecodedRequest& decoded) const {
  if (sequence_) {
    RIDGE_ASSIGN(decoded.request.sequence.id, read_sequence_id(*sequence_));
  }
  if (start_) {
    RIDGE_ASSIGN(decoded.request.sequence.start, read_bool(*start_, "parameter 'sequence_start'"));
  }
  if (end_) {
    RIDGE_ASSIGN(decoded.request.sequence.end, read_bool(*end_, "parameter 'sequence_end'"));
  }
  if (binary_) {
    RIDGE_ASSIGN(decoded.format.binary, read_bool(*binary_, "parameter 'binary_data_output'"));
  }
  if (priority_) {
    if (priority_->is_uint64())
      decoded.request.priority = priority_->get_uint64().value_unsafe();
    else
      RIDGE_TRY(read_unsigned(*priority_, "parameter 'priority'"));
  }
  if (timeout_) {
    RIDGE_ASSIGN(int64_t microseconds, read_unsigned(*timeout_, "parameter 'timeout' [microseconds]"));
    set_timeout(decoded.request, microseconds);
  }
  return {};
}

}  // namespace ridge::front::http
