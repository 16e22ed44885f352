// Sources of a batch besides the files' own scans: the host's coefficients, planes of somebody
// else.
#include <codec/cuda/batch_plan.hpp>

namespace framewire::codec::cuda {

void BatchPlan::add_upload(const Item& item, std::size_t component, PlaneDesc& plane) {
  const jpeg::Component& geometry = item.file->frame.components[component];
  const plan::Scales& scales = item.plan != nullptr ? item.plan->scales : item.scales;
  CoefficientUpload upload;
  upload.plane = &item.coefficients->components[component];
  upload.corner = static_cast<std::uint32_t>(scales[component]);
  upload.right_edge = upload.corner != 8 && geometry.width_px % 8 != 0;
  upload.bottom_edge = upload.corner != 8 && geometry.height_px % 8 != 0;
  const UploadBytes bytes = upload_bytes(upload);
  upload.corners = data_bytes_;
  upload.dc = upload.corners + bytes.corners;
  upload.edges = upload.dc + bytes.dc;
  data_bytes_ = upload.edges + bytes.edges;
  // As a scan of this component alone would be.
  plane.corner = plane.stored_corner = upload.corner;
  plane.mcu_columns = plane.width_blocks;
  plane.mcu_rows = plane.height_blocks;
  plane.right_edge = upload.right_edge ? 1 : 0;
  plane.bottom_edge = upload.bottom_edge ? 1 : 0;
  plane.coefficients = upload.corners;
  plane.dc = upload.dc;
  plane.edges = upload.edges;
  uploads_.push_back(upload);
}

void BatchPlan::add_external_planes(const Item& item) {
  for (int i = 0; i < item.plan->plane_count; ++i) {
    const int component = item.plan->planes[static_cast<std::size_t>(i)].component;
    const DevicePlane& source = item.planes[static_cast<std::size_t>(component)];
    PlaneDesc plane;
    plane.samples = reinterpret_cast<std::uintptr_t>(source.samples);
    plane.width_px = source.width_px;
    plane.height_px = source.height_px;
    plane.pitch_bytes = source.pitch_bytes;
    planes.push_back(plane);
    origins.push_back(PlaneOrigin::kExternal);
  }
}

}  // namespace framewire::codec::cuda
