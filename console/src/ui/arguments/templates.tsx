// How labels, groups and lists of the form are laid out. Words of a schema are text, whoever wrote them.
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  FieldTemplateProps,
  MultiSchemaFieldTemplateProps,
  ObjectFieldTemplateProps,
  TemplatesType,
  WidgetProps,
  WrapIfAdditionalTemplateProps,
} from "@rjsf/utils";
import { ADDITIONAL_PROPERTY_FLAG, canExpand, descriptionId, errorId } from "@rjsf/utils";
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { Button, IconButton } from "../button.tsx";
import { visibleText } from "../code.tsx";
import { CONTROL, widgets } from "./widgets.tsx";

function Note({ id, text }: { readonly id: string; readonly text: string | undefined }) {
  if (text === undefined || text === "") return null;
  return (
    <p id={id} className="text-xs text-muted">
      {visibleText(text)}
    </p>
  );
}

/** Of a list: its place says what its name would. */
const isItem = ({ fieldPathId }: FieldTemplateProps): boolean =>
  typeof fieldPathId.path.at(-1) === "number";

function FieldTemplate(props: FieldTemplateProps) {
  const { id, label, required, hidden, children, rawErrors = [], rawDescription, schema } = props;
  if (hidden) return <div className="hidden">{children}</div>;
  const isGroup =
    schema.type === "object" || (schema.type === "array" && !Array.isArray(schema.enum));
  const isCheckbox = schema.type === "boolean" && !schema.enum;
  return (
    <WrapIfAdditional {...props}>
      <div className="flex min-w-0 flex-col gap-1">
        {isGroup || isCheckbox || props.displayLabel === false ? null : (
          <label htmlFor={id} className={isItem(props) ? "sr-only" : "text-[13px] font-medium"}>
            {visibleText(label)}
            {required ? <span className="ml-1 font-normal text-muted">required</span> : null}
          </label>
        )}
        {children}
        {isGroup ? null : <Note id={descriptionId(id)} text={rawDescription} />}
        {rawErrors.length === 0 ? null : (
          <p id={errorId(id)} className="text-xs text-deny">
            {rawErrors.map(visibleText).join("; ")}
          </p>
        )}
      </div>
    </WrapIfAdditional>
  );
}

/** A field whose name the caller chooses. */
function WrapIfAdditional(props: WrapIfAdditionalTemplateProps) {
  const { id, label, schema, children, onKeyRenameBlur, onRemoveProperty } = props;
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return <>{children}</>;
  return (
    <div className="flex items-end gap-2">
      <div className="flex w-40 shrink-0 flex-col gap-1">
        <label htmlFor={`${id}-key`} className="text-[13px] font-medium">
          Name
        </label>
        <input
          id={`${id}-key`}
          key={label}
          defaultValue={label}
          onBlur={onKeyRenameBlur}
          className={`${CONTROL} h-8.5`}
        />
      </div>
      <div className="min-w-0 flex-1">{children}</div>
      <IconButton label={`Remove ${label}`} onClick={onRemoveProperty}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  );
}

function ObjectFieldTemplate(props: ObjectFieldTemplateProps) {
  const { title, schema, properties, fieldPathId, uiSchema, onAddProperty } = props;
  const formData = props.formData as unknown;
  const isRoot = fieldPathId.path.length === 0;
  const shown = properties.map(({ name, content }) => <div key={name}>{content}</div>);
  const more = canExpand(schema, uiSchema, formData) ? (
    <div>
      <Button small onClick={onAddProperty}>
        <Plus size={14} aria-hidden /> Add a field
      </Button>
    </div>
  ) : null;
  if (isRoot)
    return (
      <div className="flex flex-col gap-4">
        {shown}
        {more}
        {properties.length === 0 && more === null ? (
          <p className="text-muted">This tool takes no arguments.</p>
        ) : null}
      </div>
    );
  return (
    <fieldset className="flex flex-col gap-3 rounded-md border border-line p-3">
      <legend className="px-1 text-[13px] font-medium">{visibleText(title)}</legend>
      <Note id={descriptionId(fieldPathId)} text={schema.description} />
      {shown}
      {more}
    </fieldset>
  );
}

function ArrayFieldTemplate(props: ArrayFieldTemplateProps) {
  const { title, schema, items, canAdd, onAddClick, fieldPathId, required } = props;
  return (
    <fieldset className="flex flex-col gap-2 rounded-md border border-line p-3">
      <legend className="px-1 text-[13px] font-medium">
        {visibleText(title)}
        {required ? <span className="ml-1 font-normal text-muted">required</span> : null}
      </legend>
      <Note id={descriptionId(fieldPathId)} text={schema.description} />
      {items}
      {canAdd ? (
        <div>
          <Button small onClick={onAddClick}>
            <Plus size={14} aria-hidden /> Add an item
          </Button>
        </div>
      ) : null}
    </fieldset>
  );
}

function ArrayFieldItemTemplate({ children, buttonsProps, index }: ArrayFieldItemTemplateProps) {
  const { hasMoveUp, hasMoveDown, hasRemove, onMoveUpItem, onMoveDownItem, onRemoveItem } =
    buttonsProps;
  return (
    <div className="flex items-start gap-1">
      <div className="min-w-0 flex-1">{children}</div>
      {hasMoveUp ? (
        <IconButton label={`Move ${index + 1} up`} onClick={onMoveUpItem}>
          <ArrowUp size={14} aria-hidden />
        </IconButton>
      ) : null}
      {hasMoveDown ? (
        <IconButton label={`Move ${index + 1} down`} onClick={onMoveDownItem}>
          <ArrowDown size={14} aria-hidden />
        </IconButton>
      ) : null}
      {hasRemove ? (
        <IconButton label={`Remove ${index + 1}`} onClick={onRemoveItem}>
          <X size={14} aria-hidden />
        </IconButton>
      ) : null}
    </div>
  );
}

const MultiSchemaFieldTemplate = ({
  selector,
  optionSchemaField,
}: MultiSchemaFieldTemplateProps) => (
  <div className="flex flex-col gap-2">
    {selector}
    {optionSchemaField}
  </div>
);

const Nothing = () => null;
const Text = widgets["TextWidget"] as React.ComponentType<WidgetProps>;

export const templates: Partial<TemplatesType> = {
  FieldTemplate,
  WrapIfAdditionalTemplate: WrapIfAdditional,
  ObjectFieldTemplate,
  ArrayFieldTemplate,
  ArrayFieldItemTemplate,
  MultiSchemaFieldTemplate,
  BaseInputTemplate: Text,
  DescriptionFieldTemplate: Nothing,
  FieldErrorTemplate: Nothing,
  FieldHelpTemplate: Nothing,
  OptionalDataControlsTemplate: Nothing,
};
