// The table of members of OpenAI's requests: a row has a member's name, the calls that have it, how it is read, its
// type, bounds and description. Reading (request.cc) and the OpenAPI document follow from it. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "front/openai/conversation.h"
#include "front/openai/request.h"
#include "front/request_json.h"

namespace ridge::front::openai {

// Members of a request before they are checked against each other.
struct OpenAiReading {
  OpenAiCall call;
  OpenAiRequest request = {};
  Conversation conversation = {};
  std::optional<int64_t> best_of = {}, top_logprobs = {}, most_completion_tokens = {};
  std::optional<double> first_token_within_ms = {};
  bool wants_logprobs = false;
  bool has_stream_options = false;
  std::optional<bool> add_special = {};
};

// Reads a value that is not null. Errors: kInvalid.
using ReadMember = Status(OpenAiReading& reading, const simdjson::dom::element& value, std::string_view name);

// What a member takes.
struct MemberKind {
  ReadMember* read;
  std::string_view type =
      {};  // of JSON, or a whole schema; empty: refused, but for what is so anyway, and not described
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();  // of a string [bytes]
  bool above_least = false;                               // the least itself is not allowed
};

using Calls = uint8_t;
constexpr Calls of(OpenAiCall call) { return static_cast<Calls>(1U << static_cast<unsigned>(call)); }

struct Member {
  std::string_view name;
  Calls calls;
  MemberKind kind;
  std::string_view description = {};
};

// Null: the call has no such member.
const Member* member_of(OpenAiCall call, std::string_view name);

// The member without which a call has nothing to do; /tokenize may have `messages` in its place.
std::string_view main_member(OpenAiCall call);

// A member that no row has. kInvalid: one of another server, whose value would make another answer.
Status read_foreign(OpenAiReading& reading, const simdjson::dom::key_value_pair& pair);

}  // namespace ridge::front::openai
