// Readers of the members of OpenAI's requests that have a form of their own; members.cc has those of one value each.
// Errors: kInvalid. Pure.
#pragma once

#include <string_view>

#include "front/openai/members.h"

namespace ridge::front::openai {

ReadMember read_refused, read_elsewhere, read_prompt, read_tokens_to_show, read_encoding, read_modalities;
ReadMember read_include_reasoning, read_skip_special, read_suffix, read_seed, read_logit_bias, read_template_arguments;
ReadMember read_expression, read_choice, read_schema, read_structured, read_response_format;
ReadMember read_stop, read_stop_tokens, read_stream_options;

Error too_many(std::string_view name, size_t most, const char* what);

// A member that has no effect, for the answer's usage.
void note_unknown(OpenAiReading& reading, std::string_view name);

}  // namespace ridge::front::openai
