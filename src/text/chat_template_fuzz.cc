// Any template is a text or an error, within bounds of time, memory and stack.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ridge::Json variables = {
      {"messages",
       {{{"role", "system"}, {"content", "Be brief. "}},
        {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "h\xC3\xA9llo"}}}}},
        {{"role", "assistant"},
         {"content", "<think>x</think>y"},
         {"tool_calls", {{{"name", "f"}, {"arguments", {{"a", 1.5}}}}}}}}},
      {"tools", {{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {{"type", "object"}}}}}}}},
      {"bos_token", "<s>"},
      {"add_generation_prompt", true}};
  const auto parsed = ridge::text::ChatTemplate::parse({reinterpret_cast<const char*>(data), size});
  if (parsed) (void)parsed->render(variables);
  return 0;
}
