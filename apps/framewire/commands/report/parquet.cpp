#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <commands/report/parquet.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace framewire::app {

Result<ParquetWriter> ParquetWriter::start(const std::string& file) {
  const char* named = std::getenv("FRAMEWIRE_PYTHON");
  const std::string python = named == nullptr || *named == '\0' ? "python3" : named;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(batch::io_error(python, "make a pipe to", errno));
  }
  const base::FileDescriptor child_end(ends[0]);
  base::FileDescriptor our_end(ends[1]);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, child_end.get(), STDIN_FILENO);
  // What it prints is the report's alone.
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  std::array<std::string, 4> words = {python, "-c", to_parquet_script(), file};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(),
                                    words[3].data(), nullptr};
  pid_t process = -1;
  const int error =
      ::posix_spawnp(&process, python.c_str(), &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return fail(Status(StatusCode::kIoError,
                       fmt::format("--parquet needs Python with pyarrow: cannot start: {}; "
                                   "accepted: python3 in PATH, or its path in FRAMEWIRE_PYTHON",
                                   std::strerror(error)))
                    .about(python));
  }
  return ParquetWriter(std::move(our_end), process);
}

ParquetWriter::~ParquetWriter() {
  if (process_ < 0) return;
  ::kill(process_, SIGTERM);
  (void)wait();
}

void ParquetWriter::add(std::string_view shard, const std::string& manifest) {
  text_ += shard;
  text_ += '\0';
  text_ += manifest;
  text_ += '\0';
  send();
}

// A manifest without a name, and a line with a NUL alone at its end. No JSON has such a line, and
// one that holds a NUL elsewhere is none either: it is handed over as what cannot be read.
void ParquetWriter::add_line(std::string_view shard, std::string_view line) {
  constexpr std::size_t kSentBytes = 256 * 1024;
  if (shard_ != shard) {
    end_lines();
    shard_ = shard;
    text_ += shard;
    text_ += '\0';
    text_ += '\0';
  }
  text_ += line.find('\0') == std::string_view::npos ? line : "a line with a NUL";
  text_ += '\n';
  if (text_.size() >= kSentBytes) send();
}

void ParquetWriter::end_lines() {
  if (!shard_) return;
  text_ += '\0';
  text_ += '\n';
  shard_.reset();
  send();
}

void ParquetWriter::send() {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text_.data());
  (void)batch::write_all(names_.get(), {bytes, text_.size()});
  text_.clear();
}

bool ParquetWriter::finish() {
  end_lines();
  names_ = base::FileDescriptor();
  return wait() == 0;
}

int ParquetWriter::wait() {
  int status = -1;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

}  // namespace framewire::app
