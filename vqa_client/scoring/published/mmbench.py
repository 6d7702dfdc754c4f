"""MMBench's twenty abilities and their six groups. Source: Liu et al., MMBench (ECCV 2024), section 3 and appendix."""

from typing import Final

GROUPS: Final = {
    "CP": "coarse_perception",
    "FP_S": "finegrained_perception (instance-level)",
    "FP_C": "finegrained_perception (cross-instance)",
    "LR": "logic_reasoning",
    "RR": "relation_reasoning",
    "AR": "attribute_reasoning",
}
ABILITIES: Final = (
    *("image_emotion", "image_quality", "image_scene", "image_style", "image_topic"),
    *("attribute_recognition", "celebrity_recognition", "object_localization", "ocr"),
    *("action_recognition", "attribute_comparison", "spatial_relationship"),
    *("future_prediction", "structuralized_imagetext_understanding"),
    *("nature_relation", "physical_relation", "social_relation"),
    *("function_reasoning", "identity_reasoning", "physical_property_reasoning"),
)
"""In the order of their groups."""
