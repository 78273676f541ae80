// The parameters of a whole inference request: priority, timeout, sequence, binary_data_output. One request; one thread.
#pragma once

#include <array>
#include <optional>

#include "base/result.h"
#include "front/http/infer_request.h"
#include "front/request_json.h"

namespace ridge::front::http {

// Values are strings, numbers or booleans (the protocol's inference parameters); whoever knows the parameter interprets them.
Status check_parameter(const simdjson::dom::key_value_pair& parameter);

class RequestParameters {
 public:
  // Unknown ones are ignored. Errors: those of check_parameter(), a known one that is given twice.
  Status take(const simdjson::dom::key_value_pair& parameter);
  // Errors: a known one with a value that it cannot have.
  Status read_into(DecodedRequest& decoded) const;

 private:
  std::optional<simdjson::dom::element> binary_, priority_, timeout_, sequence_, start_, end_;
};

}  // namespace ridge::front::http
