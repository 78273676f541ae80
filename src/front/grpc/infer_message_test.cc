#include "front/grpc/infer_message.h"

#include <gtest/gtest.h>

#include <cstring>

#include "front/grpc/message_coding.h"
#include "front/grpc/message_reader.h"
#include "grpc_service.pb.h"

namespace ridge::front::grpc {
namespace {

std::string bytes_of(std::initializer_list<float> values) {
  const std::vector<float> list(values);
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(float)};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<float> floats_in(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

MessageBytes in_pieces_of(const std::string& text, size_t piece) {
  auto held = std::make_shared<const std::string>(text);
  MessageBytes message{{}, held->size(), held};
  const auto bytes = std::as_bytes(std::span(*held));
  for (size_t begin = 0; begin < bytes.size(); begin += piece)
    message.pieces.push_back(bytes.subspan(begin, std::min(piece, bytes.size() - begin)));
  return message;
}

class InferMessage : public testing::Test {
 protected:
  InferMessage() {
    request_.set_model_name("m");
    input(0);
  }
  inference::ModelInferRequest::InferInputTensor& input(int index) {
    while (request_.inputs_size() <= index) {
      auto* added = request_.add_inputs();
      added->set_name("x" + std::to_string(request_.inputs_size() - 1));
      added->set_datatype("FP32");
      added->add_shape(1);
      added->add_shape(2);
    }
    return *request_.mutable_inputs(index);
  }
  Result<serve::InferRequest> decode(size_t piece = 1 << 30) {
    return decode_infer_request(in_pieces_of(request_.SerializeAsString(), piece), bodies_, id_);
  }
  void expect_refused(const std::string& text) {
    Result<serve::InferRequest> decoded = decode();
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().code, Code::kInvalid);
    EXPECT_NE(decoded.error().message.find(text), std::string::npos) << decoded.error().message;
  }

  BodyPool bodies_{nullptr};
  inference::ModelInferRequest request_;
  std::string id_;
};

TEST_F(InferMessage, ReadsAllThatTheRequestSays) {
  request_.set_model_version("3");
  request_.set_id("seven");
  (*request_.mutable_parameters())["priority"].set_uint64_param(2);
  (*request_.mutable_parameters())["timeout"].set_int64_param(1500);
  (*request_.mutable_parameters())["other"].set_double_param(1.5);
  auto* output = request_.add_outputs();
  output->set_name("y");
  (*output->mutable_parameters())["classification"].set_int64_param(3);
  request_.add_raw_input_contents(bytes_of({1, 2.5}));
  Result<serve::InferRequest> decoded = decode();
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->model, "m");
  EXPECT_EQ(decoded->version, 3);
  EXPECT_EQ(decoded->id, "seven");
  EXPECT_EQ(decoded->priority, 2u);
  EXPECT_EQ(decoded->timeout, Nanoseconds(1'500'000));
  ASSERT_EQ(decoded->inputs.size(), 1u);
  EXPECT_EQ(decoded->inputs[0].name, "x0");
  EXPECT_EQ(decoded->inputs[0].type, DataType::kFp32);
  EXPECT_EQ(decoded->inputs[0].shape, (Shape{1, 2}));
  EXPECT_EQ(floats_in(decoded->inputs[0].data), (std::vector<float>{1, 2.5}));
  ASSERT_EQ(decoded->outputs.size(), 1u);
  EXPECT_EQ(decoded->outputs[0].classification, 3);
}

TEST_F(InferMessage, ReadsTheSequence) {
  request_.add_raw_input_contents(bytes_of({1, 2}));
  auto& parameters = *request_.mutable_parameters();
  parameters["sequence_start"].set_bool_param(true);
  parameters["sequence_id"].set_string_param("a");
  EXPECT_EQ(decode()->sequence.id, serve::SequenceId("a"));
  EXPECT_TRUE(decode()->sequence.start);
  EXPECT_FALSE(decode()->sequence.end);
  parameters["sequence_id"].set_int64_param(-1);  // how Triton's C++ client sends the largest
  EXPECT_EQ(decode()->sequence.id, serve::SequenceId(UINT64_MAX));
  parameters["sequence_id"].set_double_param(1);
  EXPECT_EQ(decode().error().code, Code::kInvalid);
  parameters["sequence_id"].set_uint64_param(1);
  parameters["sequence_end"].set_int64_param(1);
  EXPECT_EQ(decode().error().code, Code::kInvalid);
}

TEST_F(InferMessage, ARawTensorInOnePieceIsNotCopied) {
  request_.add_raw_input_contents(bytes_of({1, 2}));
  MessageBytes message = in_pieces_of(request_.SerializeAsString(), 1 << 20);
  const std::span<const std::byte> all = message.pieces[0];
  Result<serve::InferRequest> decoded = decode_infer_request(std::move(message), bodies_, id_);
  ASSERT_TRUE(decoded);
  EXPECT_GE(decoded->inputs[0].data.data(), all.data());
  EXPECT_LT(decoded->inputs[0].data.data(), all.data() + all.size());
}

TEST_F(InferMessage, IsTheSameHoweverItIsCut) {
  input(1).set_name("second");
  request_.set_id("an id");
  for (bool typed : {false, true}) {
    if (typed) {
      request_.clear_raw_input_contents();
      for (int i = 0; i < 2; ++i)
        for (float value : {1.F, 2.F}) input(i).mutable_contents()->add_fp32_contents(value);
    } else {
      request_.add_raw_input_contents(bytes_of({1, 2}));
      request_.add_raw_input_contents(bytes_of({1, 2}));
    }
    const size_t size = request_.ByteSizeLong();
    for (size_t piece = 1; piece <= size; ++piece) {
      Result<serve::InferRequest> decoded = decode(piece);
      ASSERT_TRUE(decoded) << decoded.error().message;
      EXPECT_EQ(decoded->inputs[1].name, "second");
      for (const serve::RequestInput& tensor : decoded->inputs)
        EXPECT_EQ(floats_in(tensor.data), (std::vector<float>{1, 2})) << piece;
      const bool aligned = reinterpret_cast<uintptr_t>(decoded->inputs[1].data.data()) % 64 == 0;
      EXPECT_TRUE(aligned || piece >= 8);
      EXPECT_EQ(id_, "an id");
    }
  }
}

TEST_F(InferMessage, CutOffItIsRefused) {
  request_.add_raw_input_contents(bytes_of({1, 2}));
  const std::string text = request_.SerializeAsString();
  for (size_t size = 1; size < text.size(); ++size) {
    if (size == 3) continue;  // the model's name alone: a request without inputs
    for (size_t piece : {size_t{3}, text.size()})
      EXPECT_FALSE(decode_infer_request(in_pieces_of(text.substr(0, size), piece), bodies_, id_)) << size;
  }
}

TEST_F(InferMessage, FieldsMayComeInAnyOrder) {
  inference::ModelInferRequest raw, rest = request_;
  raw.add_raw_input_contents(bytes_of({1, 2}));
  Result<serve::InferRequest> decoded =
      decode_infer_request(in_pieces_of(raw.SerializeAsString() + rest.SerializeAsString(), 1 << 20), bodies_, id_);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(floats_in(decoded->inputs[0].data), (std::vector<float>{1, 2}));
}

TEST_F(InferMessage, TakesEveryTypeOfTypedContents) {
  const auto packed = [&](const char* type, int64_t count, auto fill) {
    input(0).set_datatype(type);
    input(0).clear_shape();
    input(0).add_shape(count);
    input(0).clear_contents();
    fill(*input(0).mutable_contents());
    Result<serve::InferRequest> decoded = decode(5);
    EXPECT_TRUE(decoded) << type << ": " << decoded.error().message;
    return decoded ? text_of(decoded->inputs[0].data) : std::string();
  };
  using Contents = inference::InferTensorContents;
  using namespace std::string_literals;
  EXPECT_EQ(packed("BOOL", 2, [](Contents& c) { c.add_bool_contents(true), c.add_bool_contents(false); }), "\1\0"s);
  EXPECT_EQ(packed("INT8", 2, [](Contents& c) { c.add_int_contents(-128), c.add_int_contents(127); }), "\x80\x7f"s);
  EXPECT_EQ(packed("INT16", 1, [](Contents& c) { c.add_int_contents(-2); }), "\xfe\xff"s);
  EXPECT_EQ(packed("INT32", 1, [](Contents& c) { c.add_int_contents(-2); }), "\xfe\xff\xff\xff"s);
  EXPECT_EQ(packed("INT64", 1, [](Contents& c) { c.add_int64_contents(INT64_MIN); }), "\0\0\0\0\0\0\0\x80"s);
  EXPECT_EQ(packed("UINT8", 1, [](Contents& c) { c.add_uint_contents(255); }), "\xff"s);
  EXPECT_EQ(packed("UINT16", 1, [](Contents& c) { c.add_uint_contents(258); }), "\2\1"s);
  EXPECT_EQ(packed("UINT32", 1, [](Contents& c) { c.add_uint_contents(UINT32_MAX); }), "\xff\xff\xff\xff"s);
  EXPECT_EQ(packed("UINT64", 1, [](Contents& c) { c.add_uint64_contents(1); }), "\1\0\0\0\0\0\0\0"s);
  EXPECT_EQ(packed("FP32", 1, [](Contents& c) { c.add_fp32_contents(1); }), "\0\0\x80\x3f"s);
  EXPECT_EQ(packed("FP64", 1, [](Contents& c) { c.add_fp64_contents(1); }), "\0\0\0\0\0\0\xf0\x3f"s);
  EXPECT_EQ(packed("BYTES", 2, [](Contents& c) { c.add_bytes_contents("ab"), c.add_bytes_contents(""); }),
            "\2\0\0\0ab\0\0\0\0"s);
}

TEST_F(InferMessage, RefusesTypedContentsThatAreNotTheTensor) {
  auto& contents = *input(0).mutable_contents();
  contents.add_fp32_contents(1);
  expect_refused("input 'x0': got 1 values, the shape [1,2] has 2");
  contents.add_fp32_contents(2);
  EXPECT_TRUE(decode());
  contents.add_fp32_contents(3);
  expect_refused("more values than the 2 of its shape");
  contents.Clear();
  contents.add_int_contents(1);
  expect_refused("values in 'int_contents'; FP32 travels in 'fp32_contents'");
  input(0).set_datatype("INT8");
  contents.add_int_contents(128);
  expect_refused("128 does not fit INT8");
  input(0).set_datatype("FP16");
  expect_refused("FP16 travels in raw_input_contents only");
  input(0).clear_contents();
  expect_refused("FP16 travels in raw_input_contents only");
}

TEST_F(InferMessage, RefusesContentsThatDoNotFitTheInputs) {
  request_.add_raw_input_contents(bytes_of({1, 2}));
  request_.add_raw_input_contents(bytes_of({1, 2}));
  expect_refused("raw_input_contents has 2 entries for 1 inputs");
  request_.mutable_raw_input_contents()->RemoveLast();
  input(0).mutable_contents()->add_fp32_contents(1);
  expect_refused("both typed contents and raw_input_contents");
  request_.clear_raw_input_contents();
  (*input(0).mutable_parameters())["shared_memory_region"].set_string_param("r");
  (*input(0).mutable_parameters())["shared_memory_byte_size"].set_int64_param(8);
  expect_refused("both contents and a shared memory region");
}

TEST_F(InferMessage, NamesTheTensorAndTheMistake) {
  input(0).set_datatype("FLOAT");
  expect_refused("input 'x0': unknown datatype 'FLOAT'");
  input(0).set_datatype("FP32");
  input(0).set_shape(0, -1);
  expect_refused("negative dimension");
  input(0).set_shape(0, 1);
  (*input(0).mutable_parameters())["shared_memory_region"].set_string_param("r");
  expect_refused("'shared_memory_byte_size'");
  input(0).clear_parameters();
  auto* output = request_.add_outputs();
  output->set_name("y");
  (*output->mutable_parameters())["classification"].set_int64_param(0);
  expect_refused("output 'y': 'classification'");
  (*output->mutable_parameters())["classification"].set_string_param("1");
  expect_refused("output 'y'");
  request_.clear_outputs();
  request_.set_model_version("one");
  expect_refused("version");
  request_.clear_model_version();
  request_.clear_model_name();
  expect_refused("model_name");
}

TEST_F(InferMessage, KnowsTheIdOfARequestThatIsInvalidBehindIt) {
  request_.set_id("7");
  input(0).set_datatype("?");
  EXPECT_FALSE(decode());
  EXPECT_EQ(id_, "7");
}

TEST_F(InferMessage, ReadsWhereTensorsAreInSharedMemory) {
  input(1);
  auto& parameters = *input(0).mutable_parameters();
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_offset"].set_int64_param(16);
  parameters["shared_memory_byte_size"].set_uint64_param(8);
  request_.add_raw_input_contents(bytes_of({3, 4}));  // of the other
  auto* output = request_.add_outputs();
  output->set_name("y");
  *output->mutable_parameters() = parameters;
  Result<serve::InferRequest> decoded = decode();
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_TRUE(decoded->inputs[0].part);
  EXPECT_EQ(decoded->inputs[0].part->region, "r");
  EXPECT_EQ(decoded->inputs[0].part->offset, 16u);
  EXPECT_EQ(decoded->inputs[0].part->byte_size, 8u);
  EXPECT_EQ(floats_in(decoded->inputs[1].data), (std::vector<float>{3, 4}));
  EXPECT_TRUE(decoded->outputs[0].part);
  EXPECT_EQ(output_regions(*decoded).size(), 1u);
}

TEST_F(InferMessage, LongTypedContentsAreSeenBeforeTheyAreRead) {
  request_.add_raw_input_contents(std::string(100'000, 'x'));
  EXPECT_FALSE(has_long_contents(in_pieces_of(request_.SerializeAsString(), 999), 50'000));
  for (int i = 0; i < 20'000; ++i) input(0).mutable_contents()->add_fp32_contents(1);
  EXPECT_TRUE(has_long_contents(in_pieces_of(request_.SerializeAsString(), 999), 50'000));
}

std::string joined(const AnswerParts& parts) {
  std::string text;
  for (const http::SentPart& part : parts) text += part.text + text_of(part.bytes);
  return text;
}

serve::InferResponse response_of(const std::string& small, const std::shared_ptr<std::string>& large) {
  serve::InferResponse response{"m", 3, "id\xff", {}};
  response.outputs.push_back({"y", DataType::kFp32, {1, 2}, std::as_bytes(std::span(small)), nullptr});
  response.outputs.push_back({"z", DataType::kUint8, {}, std::as_bytes(std::span(*large)), large});
  response.outputs.push_back({"r", DataType::kFp32, {2}, {}, nullptr, true});
  return response;
}

TEST(InferAnswer, IsWhatProtobufReadsAndLongTensorsAreNotCopied) {
  const std::string small = bytes_of({1, 2});
  const auto large = std::make_shared<std::string>(10'000, 'z');
  const OutputRegions regions{{}, {}, serve::SharedMemoryView{"region", 4, 8}};
  Result<AnswerParts> parts = encode_infer_response(response_of(small, large), regions, AnswerKind::kUnary);
  ASSERT_TRUE(parts);
  EXPECT_EQ(reinterpret_cast<const char*>(parts->front().bytes.data()), large->data());
  EXPECT_EQ(parts->front().owner, large);
  inference::ModelInferResponse read;
  ASSERT_TRUE(read.ParseFromString(joined(*parts)));
  EXPECT_EQ(read.model_name(), "m");
  EXPECT_EQ(read.model_version(), "3");
  EXPECT_EQ(read.id(), "id\xEF\xBF\xBD");
  ASSERT_EQ(read.outputs_size(), 3);
  EXPECT_EQ(read.outputs(0).name(), "y");
  EXPECT_EQ(read.outputs(0).datatype(), "FP32");
  EXPECT_EQ(read.outputs(0).shape_size(), 2);
  EXPECT_EQ(read.outputs(1).shape_size(), 0);
  EXPECT_EQ(read.outputs(2).parameters().at("shared_memory_region").string_param(), "region");
  EXPECT_EQ(read.outputs(2).parameters().at("shared_memory_byte_size").int64_param(), 8);
  EXPECT_EQ(read.outputs(2).parameters().at("shared_memory_offset").int64_param(), 4);
  ASSERT_EQ(read.raw_output_contents_size(), 3);
  EXPECT_EQ(read.raw_output_contents(0), small);
  EXPECT_EQ(read.raw_output_contents(1), *large);
  EXPECT_EQ(read.raw_output_contents(2), "");
}

TEST(InferAnswer, OfAStreamIsTheSameInside) {
  const auto large = std::make_shared<std::string>(10'000, 'z');
  const serve::InferResponse response = response_of("", large);
  inference::ModelStreamInferResponse stream;
  ASSERT_TRUE(stream.ParseFromString(joined(*encode_infer_response(response, {}, AnswerKind::kStream))));
  EXPECT_EQ(stream.infer_response().raw_output_contents(1), *large);
  ASSERT_TRUE(stream.ParseFromString(encode_stream_error("wrong", "7")));
  EXPECT_EQ(stream.error_message(), "wrong");
  EXPECT_EQ(stream.infer_response().id(), "7");
}

TEST(PackedMessages, AreUnpackedWithinALimit) {
  BodyPool bodies(nullptr);
  const std::string plain(100'000, 'a');
  const std::span<const std::byte> piece = std::as_bytes(std::span(plain));
  for (Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    const MessageBytes packed = in_pieces_of(encode(coding, {&piece, 1}), 50);
    Result<MessageBytes> read = unpacked(packed, coding, {plain.size()}, bodies);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(text_of(read->pieces[0]), plain);
    EXPECT_EQ(unpacked(packed, coding, {plain.size() - 1}, bodies).error().code, Code::kExhausted);
    MessageBytes broken = packed;
    broken.pieces.pop_back();
    EXPECT_EQ(unpacked(broken, coding, {plain.size()}, bodies).error().code, Code::kInvalid);
  }
}

TEST(PackedMessages, AreCodedAsTheCallSays) {
  EXPECT_EQ(coding_named(""), Coding::kIdentity);
  EXPECT_EQ(coding_named("deflate"), Coding::kDeflate);
  EXPECT_EQ(coding_named("zstd"), std::nullopt);
  EXPECT_EQ(coding_for("identity,deflate,gzip"), Coding::kGzip);
  EXPECT_EQ(coding_for("snappy"), Coding::kIdentity);
}

TEST(MessageReader, GivesMessagesHoweverTheirBytesAreCut) {
  BodyPool bodies(nullptr);
  const std::string stream =
      message_prefix(3, false) + "abc" + message_prefix(0, true) + message_prefix(1, false) + "d";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    MessageReader reader;
    std::string read;
    for (auto bytes = std::as_bytes(std::span(stream)); !bytes.empty();) {
      Result<size_t> taken = reader.feed(bytes.first(std::min(piece, bytes.size())), bodies, 3);
      ASSERT_TRUE(taken);
      bytes = bytes.subspan(*taken);
      while (std::optional<MessageBytes> message = reader.take())
        read += text_of(message->pieces[0]) + (message->packed ? "*" : ".");
    }
    EXPECT_EQ(read, "abc.*d.");
    EXPECT_FALSE(reader.partial());
  }
  MessageReader reader;
  const std::string too_long = message_prefix(4, false);
  EXPECT_EQ(reader.feed(std::as_bytes(std::span(too_long)), bodies, 3).error().code, Code::kExhausted);
}

TEST_F(InferMessage, TheFirstRawTensorOfALongMessageIsAligned) {
  request_.add_raw_input_contents(std::string(4000, 'x'));
  for (size_t name = 1; name < 9; ++name) {
    request_.set_model_name(std::string(name, 'm'));
    const std::string message = request_.SerializeAsString(), stream = message_prefix(message.size(), false) + message;
    for (const size_t first : {5, 200}) {
      MessageReader reader;
      for (auto bytes = std::as_bytes(std::span(stream)); !bytes.empty();) {
        const size_t piece = bytes.size() == stream.size() ? first : 200;
        Result<size_t> taken = reader.feed(bytes.first(std::min(piece, bytes.size())), bodies_, stream.size());
        ASSERT_TRUE(taken);
        bytes = bytes.subspan(*taken);
      }
      Result<serve::InferRequest> decoded = decode_infer_request(*reader.take(), bodies_, id_);
      ASSERT_TRUE(decoded) << decoded.error().message;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(decoded->inputs[0].data.data()) % Body::kAlignment, 0) << name;
      EXPECT_EQ(text_of(decoded->inputs[0].data), std::string(4000, 'x'));
    }
  }
}

}  // namespace
}  // namespace ridge::front::grpc
