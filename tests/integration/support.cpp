#include <fcntl.h>
#include <gtest/gtest.h>
#include <jpeglib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

struct FatalError {
  jpeg_error_mgr manager;  // first, as libjpeg's examples have it
  std::jmp_buf escape;
};

[[noreturn]] void leave(j_common_ptr info) {
  std::longjmp(reinterpret_cast<FatalError*>(info->err)->escape, 1);
}

std::vector<const char*> c_strings(const std::vector<std::string>& arguments) {
  std::vector<const char*> words = {FRAMEWIRE_PROGRAM};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  return words;
}

[[noreturn]] void become_program(const std::vector<const char*>& words, int in, int out, int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(FRAMEWIRE_PROGRAM, const_cast<char* const*>(words.data()));
  ::_exit(127);
}

Ran decode_status(int status) {
  Ran ran;
  if (WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ran.signal = WTERMSIG(status);
  return ran;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = fs::temp_directory_path() / "framewire-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

Bytes make_jpeg(int width_px, int height_px, unsigned seed) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &memory, &bytes);
  info.image_width = static_cast<JDIMENSION>(width_px);
  info.image_height = static_cast<JDIMENSION>(height_px);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  Bytes row(static_cast<std::size_t>(width_px) * 3);
  for (unsigned y = 0; info.next_scanline < info.image_height; ++y) {
    for (unsigned x = 0; x < row.size(); ++x) {
      row[x] = static_cast<std::uint8_t>((x * (seed % 7 + 1) + y * seed) / 3);
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  Bytes out(memory, memory + bytes);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return out;
}

std::optional<Size> decode_size(std::span<const std::uint8_t> jpeg) {
  jpeg_decompress_struct info{};
  FatalError errors{};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave;
  errors.manager.output_message = [](j_common_ptr) {};
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return std::nullopt;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, jpeg.data(), jpeg.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  JSAMPARRAY row = (*info.mem->alloc_sarray)(
      reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE,
      info.output_width * static_cast<JDIMENSION>(info.output_components), 1);
  while (info.output_scanline < info.output_height) jpeg_read_scanlines(&info, row, 1);
  const Size size{static_cast<int>(info.output_width), static_cast<int>(info.output_height)};
  jpeg_finish_decompress(&info);
  const bool clean = errors.manager.num_warnings == 0;
  jpeg_destroy_decompress(&info);
  return clean ? std::optional(size) : std::nullopt;
}

void write_file(const fs::path& path, std::span<const std::uint8_t> bytes) {
  write_text(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.flush()) << path;
}

Bytes read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string read_text(const fs::path& path) {
  const Bytes bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::map<std::string, Bytes> read_tree(const fs::path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder)] = read_file(entry.path());
    }
  }
  return files;
}

std::vector<nlohmann::json> read_rows(const fs::path& manifest) {
  std::vector<nlohmann::json> rows;
  std::ifstream file(manifest);
  for (std::string line; std::getline(file, line);) {
    rows.push_back(nlohmann::json::parse(line, nullptr, false));
    EXPECT_TRUE(rows.back().is_object()) << line;
  }
  return rows;
}

std::vector<std::string> serve_with_workers(int count, const std::vector<std::string>& more) {
  std::vector<std::string> command = {"serve", "--workers", std::to_string(count)};
  command.insert(command.end(), more.begin(), more.end());
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  command.emplace_back("--no-worker-sandbox");  // a sanitizer needs calls that it refuses
#endif
  return command;
}

Ran run_program(const std::vector<std::string>& arguments, const Bytes& input,
                const std::function<void()>& prepare) {
  const TemporaryFolder folder;
  const std::string in = folder / "in";
  const std::string out = folder / "out";
  const std::string err = folder / "err";
  write_file(in, input);
  const auto words = c_strings(arguments);
  const pid_t child = ::fork();
  if (child == 0) {
    if (prepare) prepare();
    become_program(words, ::open(in.c_str(), O_RDONLY),
                   ::open(out.c_str(), O_WRONLY | O_CREAT, 0600),
                   ::open(err.c_str(), O_WRONLY | O_CREAT, 0600));
  }
  Ran ran = wait_for(child);
  ran.out = read_text(out);
  ran.err = read_text(err);
  return ran;
}

pid_t start_program(const std::vector<std::string>& arguments, const std::function<void()>& prepare,
                    const std::string& errors) {
  const auto words = c_strings(arguments);
  const pid_t child = ::fork();
  if (child == 0) {
    if (prepare) prepare();
    const int null = ::open("/dev/null", O_RDWR);
    const int err = errors.empty() ? null : ::open(errors.c_str(), O_WRONLY | O_CREAT, 0600);
    become_program(words, null, null, err);
  }
  return child;
}

Ran wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return decode_status(status);
}

}  // namespace framewire::test
