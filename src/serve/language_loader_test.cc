// Loads a folder or file as a language model that serves.
#include <gtest/gtest.h>

#include "checkpoint/test_gguf.h"
#include "serve/test_language_model.h"

namespace ridge::serve {
namespace {

class LanguageLoaderTest : public LanguageServerTest {};

TEST_F(LanguageLoaderTest, ACheckpointMayLieInTheModelsFolder) {
  write_checkpoint("m/");
  folder_.write("m/config.pbtxt", "backend: \"fake\"");
  const auto server = started(options());
  EXPECT_TRUE(server->model_ready("m", 1)) << reason_of(*server);
  EXPECT_EQ(answer(*server, text_request("plain", 10))->text(), expected_text("plain", 10));
}

TEST_F(LanguageLoaderTest, ARepositoryMayBeOneCheckpoint) {
  write_checkpoint("m/");
  folder_.write("m/model.safetensors", "");
  folder_.write("m/config.pbtxt", "backend: \"fake\"");
  ServerOptions one = options();
  one.repositories = {folder_.path() + "/m"};
  const auto server = started(one);
  EXPECT_EQ(answer(*server, text_request("whole", 10))->text(), expected_text("whole", 10));
}

// The vocabulary of test_tokenizer(), as a GGUF file has it.
std::string gguf_file() {
  const Json tokenizer = parse_json(test_tokenizer(), "").value();
  const Json& numbers = tokenizer["model"]["vocab"];
  std::vector<std::string> tokens(numbers.size());
  for (const auto& [piece, number] : numbers.items()) tokens[number.get<size_t>()] = piece;
  checkpoint::TestGguf file;
  file.text("general.architecture", "llama")
      .number("llama.context_length", 64)
      .number("llama.embedding_length", 2)
      .number("llama.block_count", 1)
      .number("llama.feed_forward_length", 2)
      .number("llama.attention.head_count", 1)
      .real("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-2")
      .texts("tokenizer.ggml.tokens", tokens)
      .number("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(tokens.size() - 1))
      .text("tokenizer.chat_template", "<{{ messages[0].content }}>")
      .tensor("token_embd.weight", {1, 2}, 0, std::string(8, '\0'));
  return file.bytes();
}

TEST_F(LanguageLoaderTest, AGgufFileHasItsTokenizerAndTemplateInItself) {
  folder_.write("m/1/model.gguf", gguf_file());
  folder_.write("m/1/decoder.fake.json", dump_json({{"vocabulary", kTestVocabulary}}));
  folder_.write("m/config.pbtxt", "backend: \"fake\"");
  add_model("as_folder");
  const auto server = started(options());
  ASSERT_TRUE(server->model_ready("m", 1)) << reason_of(*server);
  const std::string words = "plain words, and 12";
  EXPECT_EQ(*text_model(*server)->tokenizer().encode(words, true),
            *text_model(*server, "as_folder")->tokenizer().encode(words, false));
  EXPECT_EQ(*text_model(*server)->prompt_of({{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})}}),
            "<Hi>");
}

TEST_F(LanguageLoaderTest, AFolderThatLacksSomethingIsRefusedByName) {
  add_model("m");
  folder_.remove("m/1/tokenizer.json");
  folder_.write("m/1/openvino_tokenizer.xml", "");
  const auto server = started(options(ControlMode::kExplicit));
  const auto reason = [&] {
    const Status loaded = server->load("m", {});
    return loaded ? std::string("loaded") : loaded.error().message;
  };
  EXPECT_NE(reason().find("tokenizer.json is missing; found openvino_tokenizer.xml"), std::string::npos) << reason();
  folder_.write("m/1/tokenizer.json", R"({"model": {"type": "Unheard"}})");
  EXPECT_NE(reason().find("tokenizer.json"), std::string::npos) << reason();
  folder_.write("m/1/tokenizer.json", test_tokenizer());
  folder_.write("m/1/generation_config.json", "[");
  EXPECT_NE(reason().find("generation_config.json"), std::string::npos) << reason();
  folder_.remove("m/1/generation_config.json");
  folder_.write("m/config.pbtxt", "backend: \"fake\" max_batch_size: 4");
  EXPECT_NE(reason().find("max_batch_size"), std::string::npos) << reason();
  folder_.write("m/config.pbtxt", "backend: \"fake\"\n" + parameter("ridge_weights", "int5"));
  EXPECT_NE(reason().find("int8, int4"), std::string::npos) << reason();
  folder_.write("m/config.pbtxt", "backend: \"onnxruntime\"");
  EXPECT_NE(reason().find("has no decoder"), std::string::npos) << reason();
  folder_.write("m/config.pbtxt", "backend: \"fake\"");
  EXPECT_EQ(reason(), "loaded");
}

TEST_F(LanguageLoaderTest, TakesTheSamplingThatItsFilesRecommend) {
  add_model("m");
  const std::string file = "m/1/generation_config.json";
  folder_.write(file, R"({"eos_token_id": [95, 3], "temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": null,
                          "repetition_penalty": 1.05, "max_new_tokens": 7, "do_sample": true})");
  const auto server = started(options(ControlMode::kExplicit));
  ASSERT_TRUE(server->load("m", {}).ok());
  const generate::Sampling usual = text_model(*server)->usual_sampling();
  EXPECT_EQ(std::tuple(usual.temperature, usual.top_p, usual.top_k, usual.min_p, usual.repetition_penalty),
            std::tuple(0.6, 0.95, 20, 0.0, 1.05));
  TextRequest long_one = text_request(endless_prompt("p", 9), 9);
  long_one.ignore_eos = true;
  EXPECT_EQ(answer(*server, long_one)->usage().completion_tokens, 7);
  folder_.write(file, R"({"top_p": 0, "max_new_tokens": 7})");
  const Status wrong = server->load("m", {});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("'top_p'"), std::string::npos) << wrong.error().message;
  folder_.write("m/config.pbtxt", "backend: \"fake\"\n" + parameter("ridge_generation_config", "0"));
  ASSERT_TRUE(server->load("m", {}).ok());
  EXPECT_EQ(text_model(*server)->usual_sampling().top_p, 1);
  EXPECT_EQ(answer(*server, long_one)->usage().completion_tokens, 9);
}

TEST_F(LanguageLoaderTest, WritesAConversationByTheTemplateOfItsFolder) {
  add_model("m");
  const Json conversation = {{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})}};
  const auto server = started(options(ControlMode::kExplicit));
  ASSERT_TRUE(server->load("m", {}).ok());
  const Result<std::string> none = text_model(*server)->prompt_of(conversation);
  EXPECT_EQ(none.error().code, Code::kInvalid);
  EXPECT_FALSE(text_model(*server)->chats());
  EXPECT_NE(none.error().message.find("chat_template"), std::string::npos) << none.error().message;
  folder_.write("m/1/tokenizer_config.json",
                R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": [
                   {"name": "tools", "template": "no"},
                   {"name": "default", "template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"}]})");
  ASSERT_TRUE(server->load("m", {}).ok());
  EXPECT_EQ(*text_model(*server)->prompt_of(conversation), "<s>Hi</s>");
  folder_.write("m/1/chat_template.jinja", "[{{ messages[0].role }}]");
  ASSERT_TRUE(server->load("m", {}).ok());
  EXPECT_EQ(*text_model(*server)->prompt_of(conversation), "[user]") << "the file goes before";
  folder_.write("m/1/chat_template.jinja", "{% for %}");
  ASSERT_TRUE(server->load("m", {}).ok()) << "completions need none";
  EXPECT_EQ(text_model(*server)->prompt_of(conversation).error().code, Code::kInvalid);
  EXPECT_FALSE(text_model(*server)->chats()) << "and its page has no chat box";
  folder_.write("m/1/chat_template.jinja", "{% for m in messages %}{{ m.content | no_such_filter }}{% endfor %}");
  ASSERT_TRUE(server->load("m", {}).ok());
  EXPECT_FALSE(text_model(*server)->chats()) << "what is refused while it is written, too";
}

TEST_F(LanguageLoaderTest, GivesPartsAndNullAsTheTemplateReadsThem) {
  add_model("m");
  const auto server = started(options(ControlMode::kExplicit));
  const auto prompt = [&](const std::string& chat_template, Json content) {
    folder_.write("m/1/chat_template.jinja", chat_template);
    EXPECT_TRUE(server->load("m", {}).ok());
    const Json messages = Json::array({{{"role", "user"}, {"content", std::move(content)}}});
    const Result<std::string> text = text_model(*server)->prompt_of({{"messages", messages}});
    return text ? *text : text.error().message;
  };
  const Json parts = Json::parse(R"([{"type":"text","text":"one"},{"type":"text","text":"two"}])");
  EXPECT_EQ(prompt("{% for m in messages %}{{ m.content }}{% endfor %}", parts), "one\ntwo");
  EXPECT_EQ(prompt("{% for m in messages %}{{ m.content | tojson }}{% endfor %}", parts), R"("one\ntwo")");
  EXPECT_EQ(prompt("{{ bos_token + messages[0]['content'] }}", parts), "one\ntwo");
  EXPECT_EQ(prompt("{% macro text(c) %}{% if c is string %}{{ c }}{% else %}{% for p in c %}{{ p.text }}{% endfor %}"
                   "{% endif %}{% endmacro %}{% for m in messages %}{{ text(m.content) }}{% endfor %}",
                   parts),
            "onetwo");
  EXPECT_EQ(prompt("{% for m in messages %}{{ m.content[0].text + '+' + m.content[1].text }}{% endfor %}", parts),
            "one+two");
  EXPECT_EQ(prompt("{% if messages[0].content is none %}none{% endif %}", nullptr), "none");
  EXPECT_EQ(prompt("<{{ messages[0].content + '>' }}", nullptr), "<>") << "the template cannot have null";
}

TEST_F(LanguageLoaderTest, SaysWhatFitsWhereMemoryIsShort) {
  add_model("m", {{"context", 4096}, {"block_tokens", 16}, {"bytes_per_block", 1 << 20}, {"weight_bytes", 5 << 20}});
  ServerOptions small = options(ControlMode::kExplicit);
  small.free_memory = [] { return uint64_t{100} << 20; };
  const auto server = started(small);
  const Status loaded = server->load("m", {});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kExhausted);
  for (const char* part : {"256 MiB", "1.00 MiB", "5.00 MiB", "100 MiB", "1440 tokens fit", "ridge_context"})
    EXPECT_NE(loaded.error().message.find(part), std::string::npos) << part << " in " << loaded.error().message;
  folder_.write("m/config.pbtxt", "backend: \"fake\"\n" + parameter("ridge_context", "1440"));
  EXPECT_TRUE(server->load("m", {}).ok());
  EXPECT_EQ(text_model(*server)->context(), 1440);
}

}  // namespace
}  // namespace ridge::serve
