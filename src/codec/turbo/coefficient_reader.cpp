#include <algorithm>
#include <codec/turbo/coefficient_reader.hpp>
#include <codec/turbo/data_warnings.hpp>
#include <codec/turbo/entropy_source.hpp>
#include <codec/turbo/memory_source.hpp>
#include <cstring>
#include <new>
#include <optional>

namespace framewire::codec {
namespace turbo {
namespace {

Coefficients zeros(const jpeg::FrameHeader& frame) {
  Coefficients all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(frame.component_count); ++i) {
    const jpeg::Component& component = frame.components[i];
    CoefficientPlane plane{component.width_blocks, component.height_blocks, {}};
    plane.coefficients.resize(static_cast<std::size_t>(component.width_blocks) *
                              static_cast<std::size_t>(component.height_blocks) * jpeg::kBlockSize);
    all.components.push_back(std::move(plane));
  }
  return all;
}

std::int16_t* block_at(CoefficientPlane& plane, std::int32_t column, std::int32_t row) {
  return plane.coefficients.data() +
         (static_cast<std::size_t>(row) * static_cast<std::size_t>(plane.width_blocks) +
          static_cast<std::size_t>(column)) *
             jpeg::kBlockSize;
}

/// Puts the runs of blocks that our own decoder delivers into Coefficients.
class Collector final : public BlockSink {
 public:
  Collector(const jpeg::FrameHeader& frame, Coefficients& into) : frame_(frame), into_(into) {}
  void begin_band(std::int32_t band) { band_ = band; }
  void blocks(int component, int row, std::int32_t column, const CoefficientBlock* blocks,
              int count) override {
    const auto at = static_cast<std::size_t>(component);
    const std::int32_t y = band_ * frame_.components[at].v + row;
    std::memcpy(block_at(into_.components[at], column, y), blocks,
                static_cast<std::size_t>(count) * sizeof(CoefficientBlock));
  }

 private:
  const jpeg::FrameHeader& frame_;
  Coefficients& into_;
  std::int32_t band_ = 0;
};

/// One pass of libjpeg over a file: over its header alone, or to the end of what counts.
class LibjpegReader {
 public:
  LibjpegReader(const jpeg::JpegFile& file, const Context& context)
      : file_(file), context_(context), errors_(context.strict) {
    cinfo_.err = errors_.manager();
  }
  ~LibjpegReader() { jpeg_destroy_decompress(&cinfo_); }
  LibjpegReader(const LibjpegReader&) = delete;
  LibjpegReader& operator=(const LibjpegReader&) = delete;

  [[nodiscard]] Result<void> read_header() {
    const bool ok = errors_.guarded([&] {
      jpeg_create_decompress(&cinfo_);
      cinfo_.client_data = this;
      source_.attach(&cinfo_, file_.bytes.first(file_.end_offset), [](j_decompress_ptr cinfo) {
        static_cast<LibjpegReader*>(cinfo->client_data)->check_deadline();
      });
      progress_.progress_monitor = &on_progress;
      cinfo_.progress = &progress_;
      jpeg_read_header(&cinfo_, TRUE);
      if (cinfo_.num_components != file_.frame.component_count) {
        errors_.leave(StatusCode::kInvalidInput, "two readings of the frame header differ");
      }
    });
    if (!ok) return fail(errors_.status());
    return {};
  }

  /// Call it after read_header().
  [[nodiscard]] Result<void> read_scans(Coefficients& into) {
    if (!errors_.guarded([&] { arrays_ = jpeg_read_coefficients(&cinfo_); })) {
      return fail(errors_.status());
    }
    for (std::size_t i = 0; i < into.components.size(); ++i) {
      for (std::int32_t y = 0; y < into.components[i].height_blocks; ++y) {
        if (!copy_row(i, y, into.components[i])) return fail(errors_.status());
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<Warning> warnings() const { return errors_.warnings(); }

 private:
  void check_deadline() {
    if (context_.deadline.passed()) {
      errors_.leave(StatusCode::kDeadline, "the time allowed ran out while decoding");
    }
  }

  [[nodiscard]] bool copy_row(std::size_t component, std::int32_t y, CoefficientPlane& into) {
    return errors_.guarded([&] {
      auto* common = reinterpret_cast<j_common_ptr>(&cinfo_);
      JBLOCKARRAY rows = cinfo_.mem->access_virt_barray(common, arrays_[component],
                                                        static_cast<JDIMENSION>(y), 1, FALSE);
      std::memcpy(block_at(into, 0, y), rows[0],
                  static_cast<std::size_t>(into.width_blocks) * sizeof(JBLOCK));
    });
  }

  /// Ends the image behind a first scan that has all components, as decoding to samples would.
  /// Without this, libjpeg would read coefficients of later scans too.
  static void on_progress(j_common_ptr common) {
    auto* cinfo = reinterpret_cast<j_decompress_ptr>(common);
    auto& self = *static_cast<LibjpegReader*>(cinfo->client_data);
    self.check_deadline();
    if (static_cast<std::uint32_t>(cinfo->input_scan_number) > self.context_.max_scans) {
      self.errors_.leave(StatusCode::kTooLarge, "the file has more scans than max-scans allows");
    }
    if (!cinfo->inputctl->has_multiple_scans && cinfo->input_iMCU_row >= cinfo->total_iMCU_rows) {
      MemorySource::end(cinfo);
    }
  }

  const jpeg::JpegFile& file_;
  const Context& context_;
  ErrorHandler errors_;
  jpeg_decompress_struct cinfo_{};
  MemorySource source_;
  jpeg_progress_mgr progress_{};
  jvirt_barray_ptr* arrays_ = nullptr;
};

Result<DataFindings> read_own(const jpeg::JpegFile& file, const Context& context,
                              Coefficients& into) {
  OwnEntropySource source(file, context.helpers);
  Collector collector(file.frame, into);
  for (std::int32_t band = 0; band < file.frame.mcu_rows; ++band) {
    if (context.deadline.passed()) {
      return fail(StatusCode::kDeadline, "the time allowed ran out while decoding");
    }
    collector.begin_band(band);
    if (!source.read(&collector)) return DataFindings{.damaged = true};
  }
  return DataFindings{.leftover = source.has_leftover()};
}

Result<Coefficients> read(const jpeg::JpegFile& file, const Context& context,
                          CodecOutcome& outcome) {
  Coefficients all = zeros(file.frame);
  // libjpeg judges the header, whichever decoder reads the data.
  LibjpegReader reader(file, context);
  if (auto ok = reader.read_header(); !ok) return fail(ok.error());
  std::optional<DataFindings> found;
  if (file.scans.size() <= context.max_scans && OwnEntropySource::accepts(file)) {
    auto own = read_own(file, context, all);
    if (!own) return fail(own.error());
    found = *own;
    if (found->damaged) all = zeros(file.frame);
  }
  if (!found || found->damaged) {
    if (auto ok = reader.read_scans(all); !ok) return fail(ok.error());
  }
  auto warnings =
      complete_warnings(reader.warnings(), found.value_or(DataFindings{}), context.strict);
  if (!warnings) return fail(warnings.error());
  for (Warning& warning : *warnings) outcome.warnings.push_back(std::move(warning));
  return all;
}

}  // namespace
}  // namespace turbo

Result<Coefficients> read_coefficients(const jpeg::JpegFile& file, const Context& context,
                                       CodecOutcome& outcome) try {
  return turbo::read(file, context, outcome);
} catch (const std::bad_alloc&) {
  return fail(StatusCode::kBusy, "no memory to decode");
}

}  // namespace framewire::codec
